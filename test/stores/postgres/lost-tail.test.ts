// A real server comes back without its last commits, as after a failover to a lagging standby. The workers keep running,
// and no instance stays stuck.

import { execFileSync } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import { fastDirectory, SETTINGS, startServer } from "../../support/postgres.ts";
import { startRuntime, until } from "./support.ts";

const JOBS = 20;

test("instances whose end was lost run to their end again", async () => {
  const server = await startServer(fastDirectory(), SETTINGS);
  onTestFinished(() => server.close());
  const provider = await PostgresProvider.open(server.url, { schema: "tail", poolSize: 4 });
  onTestFinished(() => provider.close());
  const open = Promise.withResolvers<void>();
  let entered = 0;
  const work = activity("work", async (value: number) => {
    entered++;
    await open.promise;
    return value;
  });
  const main = orchestration("main", async (ctx, value: number) => {
    const first = await ctx.run(work, value);
    return first + (await ctx.step("step", async () => 1));
  });
  const { client } = await startRuntime(provider, [main, work]);
  const handles = await Promise.all(
    Array.from({ length: JOBS }, (_, n) => client.start(main, n, { id: `job-${n}` })),
  );
  await until("every activity runs", () => entered === JOBS);

  const data = String(server.directory);
  await server.crash();
  execFileSync("cp", ["-a", data, `${data}-earlier`]);
  await server.startAgain();
  open.resolve();
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results).toEqual(Array.from({ length: JOBS }, (_, n) => n + 1));

  await server.crash();
  execFileSync("rm", ["-rf", data]);
  execFileSync("mv", [`${data}-earlier`, data]);
  await server.startAgain();
  await until(
    "every instance has ended again",
    async () => (await client.count({ status: ["completed"] })) === JOBS,
    45_000,
  );
  expect(entered).toBe(2 * JOBS); // the activities with lost outcomes ran again
});
