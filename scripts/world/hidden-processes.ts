// Hidden processes.
//   Does: two workers run as two Unix users, each with its own /proc mounted with hidepid=2, so that neither sees the other.
//   Measures: activities that ran twice although both workers were alive; then one worker is killed, and the time until the
//        other one runs its work again.
//   Fails: an activity ran twice while both workers lived; an order did not end with its result; a worker saw the other
//        users' processes, so the run shows nothing.

import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../test/faults/kill/fleet.ts";
import { SQLITE } from "../../test/faults/kill/store-address.ts";
import { STORE_KINDS } from "../../test/faults/kill/stores.ts";
import { projectRoot } from "../../test/support/source-files.ts";
import { newWorker, openShop, startOrders, STUCK_MS, wrongOrders } from "./orders.ts";
import {
  floor,
  rule,
  scaled,
  seconds,
  type Finding,
  type Programme,
  type Setting,
} from "./programme.ts";
import { processesIn, repeatedIn, runsIn } from "./work.ts";

const ORDERS = 40;
/** Longer than the time after which a worker without heartbeats is declared dead (5 s). */
const ORDER = { rounds: 8, ms: 500 };
/** Few enough that one worker cannot take everything. */
const AT_ONCE = 10;
/** The numbers need no entry in /etc/passwd. */
const USERS = [61_001, 61_002] as const;
const HIDE = `mount -t proc -o hidepid=2 proc /proc && user=$0 && exec setpriv --reuid "$user" --regid "$user" --clear-groups "$@"`;

export const hiddenProcesses: Programme = {
  name: "hidden-processes",
  what: "two workers as two Unix users; /proc hides the processes of other users",
  stores: STORE_KINDS,
  obstacle,
  run,
};

/** A command that runs another one as the user, with a /proc that shows only the user's processes. */
function asUser(user: number, command: readonly string[]): readonly [string, ...string[]] {
  return ["unshare", "--mount", "sh", "-c", HIDE, String(user), ...command];
}

function obstacle(): string | null {
  if (process.platform !== "linux") return "needs Linux";
  if (process.getuid?.() !== 0) return "needs root, to mount /proc and to change the user";
  const [program, ...args] = asUser(USERS[0], [
    "sh",
    "-c",
    `test ! -e /proc/1/stat && cat package.json`,
  ]);
  try {
    execFileSync(program, args, { stdio: ["ignore", "ignore", "pipe"], cwd: projectRoot });
    return null;
  } catch {
    return "needs unshare, setpriv, a mount of /proc with hidepid=2, and sources that other users may read";
  }
}

async function run(setting: Setting): Promise<Finding> {
  const { folder, size } = setting;
  const log = join(folder, "runs.log");
  appendFileSync(log, "");
  await using shop = await openShop(setting);
  const path = shop.store.kind === "sqlite" ? shop.store.address.slice(SQLITE.length) : null;
  chmodSync(folder, 0o777);
  const files = path === null ? [log] : [log, path, `${path}-wal`, `${path}-shm`];
  for (const file of files) if (existsSync(file)) chmodSync(file, 0o666);

  const sights: string[] = [];
  const workers = USERS.map((user) =>
    newWorker({
      store: shop.store.address,
      log,
      runtime: { activityConcurrency: AT_ONCE, turnConcurrency: AT_ONCE },
      command: asUser(user, [process.execPath]),
      onMessage: (sight) => sights.push(sight),
    }),
  );
  try {
    await Promise.all(workers.map(({ ready }) => ready));
    const count = scaled(ORDERS, size, 3 * AT_ONCE);
    const orders = await startOrders(shop.client, { count, order: ORDER });
    const most = (count * ORDER.rounds * 3) / 4;
    await until("most activities have run", () => runsIn(log).size >= most, STUCK_MS);
    const repeated = repeatedIn(log);
    const calls = runsIn(log).size;
    const processes = processesIn(log).size;
    await workers[0]?.kill();
    const killed = performance.now();
    await until(
      "a call of the killed worker runs again",
      () => repeatedIn(log).length > repeated.length,
      STUCK_MS,
    );
    const takeoverMs = performance.now() - killed;
    const wrong = await wrongOrders(orders, ORDER);
    const hidden = sights.filter((sight) => sight === "hidden").length;
    return {
      figure: `${calls} activities on two live workers, ${repeated.length} ran twice; a killed worker's work ran again after ${seconds(takeoverMs)}`,
      numbers: { orders: count, calls, repeated: repeated.length, takeoverMs },
      rules: [
        floor("workers that do not see other users' processes", hidden, USERS.length),
        floor("workers that ran activities", processes, USERS.length),
        rule("no activity ran twice while both workers lived", repeated),
        rule("every order ended with its result", wrong),
      ],
    };
  } finally {
    await Promise.allSettled(workers.map((worker) => worker.kill()));
  }
}
