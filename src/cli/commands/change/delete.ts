// perdure delete: removes instances with their history, children, key-values and messages.

import { Removal } from "../../../client/bulk/remove-many.ts";
import { Store } from "../../../client/store.ts";
import { addBulkOptions, runBulk, toEach, type BulkOptions } from "../../options/bulk.ts";
import { defineCommand, type Program } from "../../define-command.ts";
import { STATUSES } from "../../options/filter-options.ts";
import { RemovedSums } from "../../text/removed-sums.ts";

export function addDelete(program: Program): void {
  const command = defineCommand<BulkOptions & { readonly force?: true }>(
    program,
    {
      usage: "delete [ids...]",
      summary: "remove ended instances with their history and children",
      examples: [
        ["perdure delete order-7", "delete one ended instance; asks first"],
        [
          "perdure delete --status completed --completed-before 30d --yes",
          "old instances, in a script",
        ],
        ["perdure delete order-7 --force", "even if it is live or has a parent"],
      ],
    },
    (call) => {
      const { force = false } = call.options;
      const sums = new RemovedSums();
      let removal: Removal | undefined; // one for all pages: it knows what would be deleted
      return runBulk(call, {
        verb: "delete",
        past: "deleted",
        isFinal: true,
        takes: force ? [{}] : [{ status: STATUSES.ended }],
        act: toEach(async ({ client }, id) => sums.add(await client.delete(id, { force }))),
        check: force
          ? undefined
          : ({ client }, ids) =>
              (removal ??= Removal.deletes(new Store(client.provider, client.codec))).check(ids),
        sums: () => sums.all,
      });
    },
  ).option("--force", "also delete live instances, and children without their parent");
  addBulkOptions(command);
}
