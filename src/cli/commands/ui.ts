// perdure ui: serves the dashboard and the HTTP API of a store.

import { defined } from "../../core/values/defined.ts";
import { addDashboardOptions, type DashboardOptions } from "../options/dashboard-options.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { Interruption } from "../interrupt.ts";
import { logLines } from "../text/log-lines.ts";
import { bold, cyan, dim } from "../text/screen.ts";
import { Session } from "../store/session.ts";

export function addUi(program: Program): void {
  const command = defineCommand<DashboardOptions>(
    program,
    {
      usage: "ui [store]",
      summary: "open the dashboard of a store",
      description:
        "Serves the dashboard and the HTTP API of a store until Ctrl+C. By default it listens on this machine only and " +
        "prints a generated token; any other --host needs --tokens.",
      examples: [
        ["perdure ui sqlite:./orders.db", "show a SQLite file"],
        ["perdure ui --port 0 --no-open --json", "use a free port; print the address as JSON"],
        [
          "perdure ui --host 0.0.0.0 --tokens tokens.json --read-only",
          "read-only, for other machines",
        ],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      await using session = await Session.open(call, {
        given: args[0],
        access: options.readOnly === true ? "follow" : "write",
      });
      using interruption = new Interruption();
      const log = logLines(cli.err, { json: options.json === true, verbose: false });
      const { addressWithToken, openBrowser, startDashboard } = await import("../dashboard.ts");
      await using dashboard = await startDashboard(session.client, options, log);
      const { url, addresses, token } = dashboard;
      const address = addressWithToken(dashboard);
      if (options.json === true) {
        cli.out.record({ url, addresses, ...defined({ token }) });
      } else {
        cli.out.line(bold("Dashboard  "), cyan(address));
        cli.out.line(dim(`${session.shown}. Press Ctrl+C to stop.`));
      }
      if (options.open !== false && cli.out.isTerminal) openBrowser(dashboard, cli.env);
      await interruption.received;
      return 0;
    },
  );
  addDashboardOptions(command);
}
