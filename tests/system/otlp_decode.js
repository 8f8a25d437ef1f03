// SPDX-License-Identifier: MIT
// otlp_decode.js FOLDER < LINES: each line, a request of OTLP/JSON, through the published schema of its messages (the one that
// comes with npm's @opentelemetry/otlp-transformer in FOLDER) to its binary form and back.  What the schema does not know is lost.
"use strict";
const readline = require("readline");
const folder = process.argv[2] + "/node_modules/";
const schema = require(folder + "@opentelemetry/otlp-transformer/build/src/generated/root.js");
const Request = schema.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
const IDS = ["traceId", "spanId", "parentSpanId"]; // hexadecimal, other than in protobuf's own JSON

function convert(value, convertId) {
	if (Array.isArray(value))
		return value.map(item => convert(item, convertId));
	if (value === null || typeof value !== "object" || Buffer.isBuffer(value))
		return value;
	return Object.fromEntries(Object.entries(value).map(
		([key, inner]) => [key, IDS.includes(key) ? convertId(inner) : convert(inner, convertId)]));
}

readline.createInterface({ input: process.stdin, crlfDelay: Infinity }).on("line", line => {
	const message = Request.fromObject(convert(JSON.parse(line), id => Buffer.from(id, "hex")));
	const back = Request.toObject(Request.decode(Request.encode(message).finish()), { longs: String });
	console.log(JSON.stringify(convert(back, id => Buffer.from(id).toString("hex"))));
});
