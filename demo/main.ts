// The demo: orders on one SQLite file, and a worker process that is killed again and again in the middle of them.
//   Nothing is staged: kills happen at random points, and every number is read from the store's histories or from the
//   log of side effects. The exit code is 1 if anything was lost or doubled.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Perdure } from "../src/index.ts";
import { auditOrder } from "./audit.ts";
import { leaveOpen, openDashboard } from "./dashboard.ts";
import { defineFulfilment } from "./fulfilment.ts";
import { activitiesOf, makeOrders } from "./orders.ts";
import { report } from "./report.ts";
import { label, paint, Screen } from "./screen.ts";
import { readEffects } from "./side-effects.ts";
import { Watch, type WatchedOrder } from "./watch.ts";
import { WorkerProcess } from "./worker-process.ts";

const ORDERS = 12;
const KILLS = 4;
/** Far more than the demo needs, so that only a hang reaches it. */
const DEADLINE_MS = 60_000;
const LOOK_EVERY_MS = 50;

const screen = new Screen();
const folder = mkdtempSync(join(tmpdir(), "perdure-demo-"));
const store = join(folder, "orders.db");
const effects = join(folder, "side-effects.log");
let worker: WorkerProcess | null = null;

process.once("exit", () => {
  void worker?.kill();
  rmSync(folder, { recursive: true, force: true });
});
const interrupted = (): never => process.exit(130);
process.once("SIGINT", interrupted);
process.stdout.once("error", () => process.exit()); // the reader closed the pipe, for example `| head`

screen.plain(
  paint("bold", `\n  ${ORDERS} orders on one SQLite file, and a worker that dies ${KILLS} times\n`),
);
const perdure = await Perdure.open(`sqlite:${store}`, { autoStart: false }); // this process only starts orders and watches
const dashboard = await openDashboard(perdure, screen);
const orders = await startOrders();
const watch = new Watch(orders, screen);
worker = startWorker();
const [kills] = await Promise.all([killAgainAndAgain(), watchToTheEnd()]);
await worker.leave();

const happened = readEffects(effects);
const audits = await Promise.all(
  orders.map(({ order, handle }) => auditOrder(order, handle, happened)),
);
process.exitCode = report(screen, audits, kills) ? 0 : 1;
process.off("SIGINT", interrupted);
await leaveOpen(dashboard, screen);
await perdure.close();

async function startOrders(): Promise<readonly WatchedOrder[]> {
  const { fulfil } = defineFulfilment(() => undefined);
  const starts = makeOrders(ORDERS).map(async (order) => {
    return { order, handle: await perdure.client.start(fulfil, order, { id: order.id }) };
  });
  const started = await Promise.all(starts);
  screen.log(`${label("cyan", "start")}${started.length} orders are on disk`);
  return started;
}

function startWorker(): WorkerProcess {
  const started = new WorkerProcess({
    args: [store, effects],
    onTakeOver: ({ instances, tasks }) =>
      screen.log(`${label("cyan", "takeover")}${instances} orders, ${tasks} activities in flight`),
    onCrash: ({ pid }) => fail(`worker ${pid} exited unexpectedly`),
  });
  screen.log(`${label("cyan", "worker")}process ${started.pid} starts`);
  return started;
}

/** Each kill waits until its share of the work is done, so that the kills are spread over the run. */
async function killAgainAndAgain(): Promise<number> {
  const all = orders.reduce((sum, { order }) => sum + activitiesOf(order), 0);
  for (let kills = 0; kills < KILLS; kills++) {
    const share = (all * (kills + 1)) / (KILLS + 2);
    while (new Set(readEffects(effects).map(({ key }) => key)).size < share)
      await pause(LOOK_EVERY_MS);
    await pause(Math.random() * 100);
    await killWorker();
    worker = startWorker();
  }
  return KILLS;
}

async function killWorker(): Promise<void> {
  if (worker === null) return;
  const { pid } = worker;
  await worker.kill();
  const cutOff = (await watch.inFlight()).join(", ") || "nothing";
  screen.log(`${label("red", "kill -9")}process ${pid} dies in the middle of ${cutOff}`);
}

async function watchToTheEnd(): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await watch.look())) {
    if (performance.now() > deadline) fail(`not done after ${DEADLINE_MS / 1_000} s`);
    await pause(LOOK_EVERY_MS);
  }
}

function fail(why: string): never {
  screen.log(`${paint("red", "✗")} ${why}`);
  process.exit(1);
}
