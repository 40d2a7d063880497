// perdure delete: removes instances with everything of them.

import { addBulkOptions, runBulk, type BulkOptions } from "../bulk.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { STATUSES } from "../filter-options.ts";
import { RemovedSums } from "../removed-sums.ts";

export function addDelete(program: Program): void {
  const command = defineCommand<BulkOptions & { readonly force?: true }>(
    program,
    {
      usage: "delete [ids...]",
      summary: "remove ended instances with their history and children",
      examples: [
        ["perdure delete order-7", "one ended instance, after a question"],
        ["perdure delete --status completed --completed-before 30d --yes", "old ones, in a script"],
        ["perdure delete order-7 --force", "also if it is live, or a child"],
      ],
    },
    (call) => {
      const { force = false } = call.options;
      const sums = new RemovedSums();
      return runBulk(call, {
        verb: "delete",
        past: "deleted",
        isFinal: true,
        takes: force ? [{}] : [{ status: STATUSES.ended }],
        act: async ({ client }, id) => sums.add(await client.delete(id, { force })),
        sums: () => sums.all,
      });
    },
  ).option("--force", "also what is live, and children without their parent");
  addBulkOptions(command);
}
