// perdure pause: no further turn of an instance runs until it is resumed.

import { addBulkOptions, runBulk, type BulkOptions } from "../bulk.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { addWhyOptions, whyOf, type WhyOptions } from "../why.ts";

export function addPause(program: Program): void {
  const command = defineCommand<BulkOptions & WhyOptions>(
    program,
    {
      usage: "pause [ids...]",
      summary: "let no further turn run; what is under way finishes",
      examples: [
        ['perdure pause order-7 --reason "bank is down"', "one instance"],
        ["perdure pause --name fulfil --status running", "all that run, after a question"],
      ],
    },
    (call) => {
      const why = whyOf(call.options, "paused from the command line");
      return runBulk(call, {
        verb: "pause",
        past: "paused",
        isFinal: false,
        takes: [{ status: ["pending", "running"] }],
        act: ({ client }, id) => client.get(id).pause(why),
      });
    },
  );
  addBulkOptions(addWhyOptions(command));
}
