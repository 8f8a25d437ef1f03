-- SPDX-License-Identifier: MIT
-- For CliFilterPlugins=cli_filter/lua of slurm.conf, in the same directory: after each sbatch, `jobmeter predict`
-- stores a prediction of the job, in the background, which is scored at the job's end (docs/prediction.md).
-- sbatch does not wait: without jobmeter, or with a slow or absent server, nothing happens.

local program = os.getenv("JOBMETER") or "jobmeter"
local names = { "account", "partition", "qos", "job-name", "nodes", "ntasks", "cpus-per-task", "ntasks-per-node",
                "time", "mem", "mem-per-cpu", "array", "gpus", "gres", "gpus-per-node" }
local asked

-- Quoted for the shell, whatever the user called the job.
local function quote(text)
	return "'" .. text:gsub("'", "'\\''") .. "'"
end

function slurm_cli_setup_defaults(options, early_pass)
	return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, offset)
	asked = nil
	if options["type"] ~= "sbatch" then
		return slurm.SUCCESS
	end
	asked = {}
	for _, name in ipairs(names) do
		local value = options[name]
		if type(value) == "string" and value:match("^[^-]") and value ~= "unset" and value ~= "0" then -- "-2" is not given
			asked[#asked + 1] = quote("--" .. name .. "=" .. value)
		end
	end
	return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job, step)
	if asked then
		os.execute(quote(program) .. " predict --job " .. string.format("%d", job) .. " -- --hold " ..
		           table.concat(asked, " ") .. " </dev/null >/dev/null 2>&1 &")
	end
	return slurm.SUCCESS
end
