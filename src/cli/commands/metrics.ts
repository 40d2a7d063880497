// perdure metrics: figures for the whole store.

import { metricsToHttp } from "../../server/wire/store.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { bold, dim, yellow } from "../screen.ts";
import { Session } from "../session.ts";
import { printTable } from "../table.ts";

export function addMetrics(program: Program): void {
  defineCommand(
    program,
    {
      usage: "metrics [store]",
      summary: "show figures for the whole store",
      examples: [
        ["perdure metrics", "instances by status, events, tasks"],
        ["perdure metrics --json | jq .instances.failed", "one figure, for a script"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      await using session = await Session.open(call, { given: args[0], access: "read" });
      const metrics = await session.client.metrics();
      if (options.json === true) {
        cli.out.document(metricsToHttp(metrics));
        return 0;
      }
      const { instances, unclaimed, ...rest } = metrics;
      cli.out.line(bold(session.shown), "  ", dim(session.provider.durability));
      const figures: [string, number][] = [
        ...Object.entries(instances),
        ["  paused", rest.paused],
        ["  blocked", rest.blocked],
        ["executions", rest.executions],
        ["events", rest.events],
        ["due messages", rest.dueMessages],
        ["tasks waiting", rest.waitingTasks],
        ["tasks running", rest.runningTasks],
        ["leases stranded", rest.strandedLeases],
      ];
      printTable(
        cli.out,
        [
          { title: "what", cell: ([name]) => name },
          { title: "count", cell: ([, count]) => count },
        ],
        figures,
      );
      for (const { reason } of unclaimed) cli.out.line(yellow("! "), reason);
      return 0;
    },
  );
}
