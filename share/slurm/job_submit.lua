-- SPDX-License-Identifier: MIT
-- For JobSubmitPlugins=lua of slurm.conf, in the same directory: a job that is submitted with --comment=eco begins when
-- it emits the least CO2e within 12 hours (--comment=eco:6h: within 6), by the forecast in a local file, which
-- something else keeps (docs/sites/slurm.md).  slurmctld waits for nothing: without a forecast that covers a run from now on,
-- or after 5 ms, the job is left as it is.  So is one with a begin time of its own, or without a time limit.

local path = os.getenv("JOBMETER_FORECAST") or "/run/jobmeter/forecast"
local slack_hours, slack_hours_max = 12, 168
local gain_least = 0.05 -- for less no job waits
local bytes_max, line_max, rows_max, seconds_max = 65536, 80, 1000, 0.005

-- Of lines "FROM UNTIL GRAMS_PER_KWH", one behind the other, as /api/v1/forecast has them.
local function read_forecast()
	local rows = {}
	local file = io.open(path, "r")
	local text = file and file:read(bytes_max)
	if file then
		file:close()
	end
	local at, stop = 1, (text or ""):find("\n", 1, true)
	while stop and #rows < rows_max do
		local from, to, grams
		if stop - at <= line_max then -- a pattern's time grows faster than its text
			from, to, grams = text:sub(at, stop - 1):match("^(%d+) (%d+) (%d+%.?%d*)$")
		end
		if from then
			rows[#rows + 1] = { from = tonumber(from), to = tonumber(to), grams = tonumber(grams) }
		end
		at, stop = stop + 1, text:find("\n", stop + 1, true)
	end
	return rows
end

-- The mean factor of a run; nil: there is a gap, or the forecast ends.
local function mean_over(rows, from, seconds)
	local at, sum = from, 0
	for _, row in ipairs(rows) do
		if row.from <= at and at < row.to and at < from + seconds then
			local to = math.min(row.to, from + seconds)
			sum = sum + row.grams * (to - at)
			at = to
		end
	end
	return at >= from + seconds and sum / seconds or nil
end

-- When it begins, and the share that it emits less; nil: now is as good, or not known.
local function find_start(now, slack, seconds)
	local deadline = os.clock() + seconds_max
	local rows = read_forecast()
	local of_now = mean_over(rows, now, seconds)
	local best, start = of_now, nil
	for _, row in ipairs(rows) do
		if not of_now or of_now <= 0 or os.clock() > deadline then
			return nil
		end
		local mean = row.from > now and row.from <= now + slack and mean_over(rows, row.from, seconds)
		if mean and mean < best then
			best, start = mean, row.from
		end
	end
	if not start or 1 - best / of_now < gain_least then
		return nil
	end
	return start, 1 - best / of_now
end

local function delay(job)
	local hours = (job.comment or ""):match("^eco$") and slack_hours or tonumber((job.comment or ""):match("^eco:(%d+)h$"))
	local minutes, now = job.time_limit, os.time()
	if not hours or hours > slack_hours_max or (job.begin_time or 0) > now or minutes == slurm.NO_VAL or minutes == slurm.INFINITE then
		return
	end
	local start, gain = find_start(now, hours * 3600, minutes * 60)
	if start then
		job.begin_time = start
		slurm.log_user("jobmeter: begins at %s, when it emits %d %% less CO2e by the forecast", os.date("%Y-%m-%dT%H:%M", start),
		               math.floor(100 * gain + 0.5))
	end
end

function slurm_job_submit(job, partitions, uid)
	pcall(delay, job) -- whatever is wrong here, the job is taken
	return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
	return slurm.SUCCESS
end
