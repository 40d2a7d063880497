// A worker process on a store's file: `programs/worker.ts <store> <runtime options as JSON>`. What it runs is in programs/jobs.ts.

import { Perdure, type RuntimeOptions } from "../../../../src/index.ts";
import { register } from "./jobs.ts";
import { say } from "./say.ts";

const [path = "", options = "{}"] = process.argv.slice(2);
const perdure = await Perdure.open(`sqlite:${path}`, {
  register,
  runtime: {
    ...(JSON.parse(options) as RuntimeOptions), // written by a test of this folder
    log: (level, message, fields) => say("log", { level, message, ...fields }),
  },
});
say("ready", { runtime: perdure.runtime.id });
