// perdure ui: the dashboard and the HTTP API of a store, on this machine.

import { addDashboardOptions, type DashboardOptions } from "../dashboard-options.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { Interruption } from "../interrupt.ts";
import { logLines } from "../log-lines.ts";
import { bold, cyan, dim } from "../screen.ts";
import { Session } from "../session.ts";

export function addUi(program: Program): void {
  const command = defineCommand<DashboardOptions>(
    program,
    {
      usage: "ui [store]",
      summary: "open the dashboard of a store",
      description:
        "Serves the dashboard and the HTTP API of a store until Ctrl+C. By default on this machine alone, with a " +
        "token that is made up and printed; elsewhere only with --tokens.",
      examples: [
        ["perdure ui sqlite:./orders.db", "of that file"],
        ["perdure ui --port 0 --no-open --json", "on a free port; prints the address as JSON"],
        ["perdure ui --host 0.0.0.0 --tokens tokens.json --read-only", "for others, to look at"],
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
        cli.out.record({ url, addresses, ...(token === undefined ? {} : { token }) });
      } else {
        cli.out.line(bold("Dashboard  "), cyan(address));
        cli.out.line(dim(`${session.shown}. Ctrl+C ends it.`));
      }
      if (options.open !== false && cli.out.isTerminal) openBrowser(dashboard, cli.env);
      await interruption.came;
      return 0;
    },
  );
  addDashboardOptions(command);
}
