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
local asked, file, shell, waits

-- Quoted for the shell, whatever the user called the job.
local function quote(text)
	return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function command(more)
	return quote(program) .. " predict " .. more .. "-- --hold " .. table.concat(asked, " ")
end

function slurm_cli_setup_defaults(options, early_pass)
	return slurm.SUCCESS
end

-- One process is all that sbatch starts, and unlike os.execute(), io.popen() does not wait for it.  In a child of it the answer
-- is written into a file; when its input has ended, the prediction is stored for the job that the file then names.
local function ask()
	local path = os.tmpname()
	local quoted = quote(path)
	local commands = {
		"ulimit -c 0; ulimit -f 64", -- blocks of 512 bytes
		prints and command("") .. " </dev/null >>" .. quoted or "true",
		"read -r none",
		"while read -r word id; do case $word$id in *[!0-9job]*) ;; job*) job=$id ;; esac; done <" .. quoted,
		"rm -f " .. quoted,
		"test -z \"$job\" || exec " .. command("--job \"$job\" ") .. " </dev/null",
	}
	file = io.open(path, "a+")
	shell = io.popen("exec 3<&0; { " .. table.concat(commands, "; ") .. "; } <&3 >/dev/null 2>&1 3<&- &", "w")
	if not shell then
		os.remove(path)
	end
end

function slurm_cli_pre_submit(options, offset)
	asked, file, shell = nil, nil, nil
	if options["type"] ~= "sbatch" then
		return slurm.SUCCESS
	end
	waits = options["wait"] ~= "unset"
	asked = {}
	for _, name in ipairs(names) do
		local value = options[name]
		if type(value) == "string" and value:match("^[^-]") and value ~= "unset" and value ~= "0" and value ~= no_limit then -- "-2" is not given
			asked[#asked + 1] = quote("--" .. name .. "=" .. value)
		end
	end
	pcall(ask)
	return slurm.SUCCESS
end

-- Of the table's rows those that are known: "runtime 10 m 03 s (9 m to 12 m)".
local function print_answer()
	local text, known = file:read(answer_max) or "", {}
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
	if file and shell then
		pcall(print_answer)
		file:seek("end") -- between a read and a write
		file:write(string.format("\njob %d\n", job))
		file:close()
		if waits then -- else the end of sbatch does it, and waits for no shell
			shell:close()
		end
	end
	return slurm.SUCCESS
end
