// perdure cancel: asks instances to end; their code may clean up.

import { addBulkOptions, runBulk, type BulkOptions } from "../bulk.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { STATUSES } from "../filter-options.ts";
import { addWhyOptions, whyOf, type WhyOptions } from "../why.ts";

export function addCancel(program: Program): void {
  const command = defineCommand<BulkOptions & WhyOptions>(
    program,
    {
      usage: "cancel [ids...]",
      summary: "ask instances to end; their code may clean up",
      examples: [
        ['perdure cancel order-7 --reason "customer called"', "one instance"],
        ["perdure cancel --name fulfil --created-before 30d", "all that match, after a question"],
        ["perdure cancel --name fulfil --dry-run", "what that would be"],
      ],
    },
    (call) => {
      const why = whyOf(call.options, "cancelled from the command line");
      return runBulk(call, {
        verb: "cancel",
        past: "asked to cancel",
        isFinal: true,
        takes: [{ status: STATUSES.live }],
        act: ({ client }, id) => client.get(id).cancel(why),
      });
    },
  );
  addBulkOptions(addWhyOptions(command));
}
