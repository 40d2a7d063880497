// A worker that the test stops with SIGSTOP while its activity runs: `stopped-worker.ts <store>`.

import { activity, isPerdureError, orchestration, Perdure } from "../../../../src/index.ts";
import { say } from "./say.ts";

const [path = ""] = process.argv.slice(2);

const slow = activity("slow", async (_: undefined, { attempt, signal }) => {
  const aborted = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => {
      const { reason }: { reason: unknown } = signal;
      say("aborted", { code: isPerdureError(reason) ? reason.code : String(reason) });
      resolve();
    });
  });
  say("entered", { attempt });
  await aborted;
  setImmediate(() => say("returned late"));
  return "too late";
});
const work = orchestration("work", async (ctx) => [await ctx.run(slow), await ctx.waitFor("go")]);

await Perdure.open(`sqlite:${path}`, {
  register: [work, slow],
  runtime: { instanceLeaseMs: 500, taskLeaseMs: 500 },
});
say("ready");
