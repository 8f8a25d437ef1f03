-- SPDX-License-Identifier: MIT
-- For CliFilterPlugins=cli_filter/lua of slurm.conf, in the same directory.  At each sbatch, `jobmeter predict` is asked
-- in the background: what it has answered when the job has been submitted is printed, and a prediction is stored, which
-- is scored at the job's end (docs/prediction.md).  sbatch waits for neither: without jobmeter, or with a slow or absent
-- server, nothing is printed and nothing happens.

local program = os.getenv("JOBMETER") or "jobmeter"
local prints = true
local answer_max = 16384
local names = { "account", "partition", "qos", "job-name", "nodes", "ntasks", "cpus-per-task", "ntasks-per-node",
                "time", "mem", "mem-per-cpu", "array", "gpus", "gres", "gpus-per-node" }
local no_limit = "2982616-04:14:00" -- how Slurm prints a time that is not given
local asked, answer
local started = {} -- kept: the collector would wait for their shells

-- Quoted for the shell, whatever the user called the job.
local function quote(text)
	return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- io.popen() starts a shell and, unlike os.execute(), does not wait for it: sbatch pays one fork.  @commands run in a child
-- of that shell, so that a Slurm that closes Lua at its end waits for nothing either.
local function start(commands)
	started[#started + 1] = io.popen("{ " .. commands .. "; } </dev/null >/dev/null 2>&1 &")
end

local function command(more)
	return quote(program) .. " predict " .. more .. "-- --hold " .. table.concat(asked, " ")
end

function slurm_cli_setup_defaults(options, early_pass)
	return slurm.SUCCESS
end

-- Asks into a file that has no name any more once the shell has opened it.
local function ask()
	local path = os.tmpname()
	answer = io.open(path, "r")
	start("exec 3>" .. quote(path) .. "; rm " .. quote(path) .. "; exec " .. command("") .. " >&3 3>&-")
end

function slurm_cli_pre_submit(options, offset)
	asked, answer = nil, nil
	if options["type"] ~= "sbatch" then
		return slurm.SUCCESS
	end
	asked = {}
	for _, name in ipairs(names) do
		local value = options[name]
		if type(value) == "string" and value:match("^[^-]") and value ~= "unset" and value ~= "0" and value ~= no_limit then -- "-2" is not given
			asked[#asked + 1] = quote("--" .. name .. "=" .. value)
		end
	end
	if prints then
		pcall(ask)
	end
	return slurm.SUCCESS
end

-- Of the table's rows those that are known: "runtime 10 m 03 s (9 m to 12 m)".
local function print_answer()
	local text, known = answer and answer:read(answer_max) or "", {}
	for _, row in ipairs({ "runtime", "peak memory", "energy" }) do
		local value, range = text:match("\n" .. row .. "  +([^\n]-)  +([^\n]-)  ")
		if value and value ~= "not known" then
			known[#known + 1] = row .. " " .. value .. (range ~= "not known" and " (" .. range .. ")" or "")
		end
	end
	if #known > 0 then
		slurm.log_info("jobmeter expects: %s", table.concat(known, ", "))
	end
end

function slurm_cli_post_submit(offset, job, step)
	if asked then
		pcall(print_answer)
		pcall(start, "exec " .. command("--job " .. string.format("%d", job) .. " "))
	end
	return slurm.SUCCESS
end
