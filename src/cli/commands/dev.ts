// perdure dev: runs a reloading worker and the dashboard, and prints the log, in one terminal.

import { addDashboardOptions, type DashboardOptions } from "../options/dashboard-options.ts";
import { defineCommand, type Program } from "../define-command.ts";
import { runReloading } from "../dev/reloading-worker.ts";
import { Interruption } from "../interrupt.ts";
import { logLines } from "../text/log-lines.ts";
import { neededConfig, Session } from "../store/session.ts";
import { parseTimeSpan } from "../text/times.ts";
import { workerArgs } from "../worker/worker-args.ts";

interface DevOptions extends DashboardOptions {
  readonly ui: boolean;
  readonly grace: string;
  readonly verbose?: true;
}

export function addDev(program: Program): void {
  const command = defineCommand<DevOptions>(
    program,
    {
      usage: "dev [store]",
      summary: "run a worker that reloads on change, with the dashboard",
      description:
        "Runs the config's code in a worker, serves the dashboard and shows the log. The worker restarts when it " +
        "exits and when a file that it loaded changes. After changing the store's address, restart this command.",
      examples: [
        ["perdure dev", "use the config's store; dashboard on port 8787"],
        ["perdure dev sqlite:./scratch.db --port 0 --no-open", "use another file and a free port"],
        ["perdure dev --no-ui --verbose", "run only the worker, with debug lines"],
      ],
    },
    async (call) => {
      const { cli, options, args } = call;
      const graceMs = parseTimeSpan("--grace", options.grace);
      const { path } = await neededConfig(call);
      await using session = await Session.open(call, { given: args[0], create: true });
      using interruption = new Interruption();
      const verbose = options.verbose === true;
      const log = logLines(cli.out, { json: options.json === true, verbose });
      const { addressWithToken, openBrowser, startDashboard } = await import("../dashboard.ts");
      const dashboard = options.ui ? await startDashboard(session.client, options, log) : undefined;
      try {
        if (dashboard !== undefined) {
          const address = addressWithToken(dashboard);
          log("info", "dashboard", { url: address });
          if (options.open !== false && cli.out.isTerminal) openBrowser(dashboard, cli.env);
        }
        await runReloading({ args: workerArgs(call), config: path, graceMs, log, interruption });
      } finally {
        await dashboard?.close();
      }
      return 0;
    },
  )
    .option("--no-ui", "do not serve the dashboard")
    .option("--grace <duration>", "time for running work to finish on a reload", "1s")
    .option("-v, --verbose", "also show debug lines");
  addDashboardOptions(command);
}
