// perdure metrics: shows the metrics of a store.

import { metricsToHttp } from "../../../server/wire/store.ts";
import type { Program } from "../../define-command.ts";
import { bold, dim, yellow } from "../../text/screen.ts";
import { printTable } from "../../text/table.ts";
import { addStoreView } from "./store-view.ts";

export function addMetrics(program: Program): void {
  addStoreView(
    program,
    {
      usage: "metrics [store]",
      summary: "show the metrics of a store",
      examples: [
        ["perdure metrics", "instances by status, events, tasks"],
        ["perdure metrics --json | jq .instances.failed", "one metric, in a script"],
      ],
    },
    {
      read: ({ client }) => client.metrics(),
      document: metricsToHttp,
      print(metrics, screen, session) {
        const { instances, unclaimed, ...rest } = metrics;
        screen.line(bold(session.shown), "  ", dim(session.provider.durability));
        const figures: [string, number][] = [
          ...Object.entries(instances),
          ["  paused", rest.paused],
          ["  blocked", rest.blocked],
          ["executions", rest.executions],
          ["events", rest.events],
          ["due messages", rest.dueMessages],
          ["kept messages", rest.keptMessages],
          ["expired messages", rest.expiredMessages],
          ["tasks waiting", rest.waitingTasks],
          ["tasks running", rest.runningTasks],
          ["leases stranded", rest.strandedLeases],
        ];
        printTable(
          screen,
          [
            { title: "metric", cell: ([name]) => name },
            { title: "count", cell: ([, count]) => count },
          ],
          figures,
        );
        for (const { reason } of unclaimed) screen.line(yellow("! "), reason);
      },
    },
  );
}
