// An entity is linearizable: one order of its calls explains all answers, also while processes are killed. The seed is
// printed; PERDURE_SEED repeats the same choices, but not the same races.
//   PERDURE_REGISTERS sets the number of histories per store (5, or 500 with PERDURE_FULL).

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkHistory, holdsInCallOrder } from "../../../stores/linearizability/checker.ts";
import { seedFromEnvironment, wholeNumber } from "../../kill/chance.ts";
import { WorkerProcess } from "../../kill/fleet.ts";
import { Spares } from "../../kill/spares.ts";
import { STORE_KINDS, storeUnderTest, type StoreKind } from "../../kill/stores.ts";
import { Caller } from "./caller.ts";
import { makeRound, REGISTERS, type Round } from "./histories.ts";
import { formatHistory, registerModel, type Made } from "./register.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const HISTORIES = wholeNumber("PERDURE_REGISTERS") ?? (IS_FULL ? 500 : REGISTERS);
const PROCESSES = 4;
const SEED = seedFromEnvironment();
const TIMEOUT_MS = 60_000 + HISTORIES * 5_000;
/** Takeovers must not take most of the time. */
const RUNTIME = { beatMs: 100, staleMs: 500 };

test.each(STORE_KINDS)(
  `${HISTORIES} registers are linearizable while processes are killed, on %s`,
  { timeout: TIMEOUT_MS },
  async (kind) => {
    const folder = mkdtempSync(join(tmpdir(), "perdure-register-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    await using store = await storeUnderTest(kind, folder);
    const program = new URL("./worker.ts", import.meta.url);
    const receivers = new Map<WorkerProcess, (message: string) => void>();
    const spawn = (): WorkerProcess => {
      const onMessage = (message: string): void => receivers.get(worker)?.(message);
      const log = join(folder, "worker");
      const shared = { program, store: store.address, log, runtime: RUNTIME, onMessage };
      const worker: WorkerProcess = new WorkerProcess({ ...shared, isSpare: true });
      return worker;
    };
    await using spares = new Spares(1, spawn);
    const take = (onMessage: (message: string) => void): WorkerProcess => {
      const worker = spares.take();
      receivers.set(worker, onMessage);
      return worker;
    };
    const callers = Array.from({ length: PROCESSES }, () => new Caller(take));
    onTestFinished(async () => void (await Promise.all(callers.map((caller) => caller.close()))));
    await Promise.all(callers.map(({ ready }) => ready));

    const met = { histories: 0, calls: 0, contended: 0, repeated: 0, doubled: 0, unknown: 0 };
    for (let seed = SEED; met.histories < HISTORIES; seed += 1) {
      const round = await makeRound(callers, seed);
      const problems = [...round.errors, ...round.histories.map(problemOf)].filter(Boolean);
      if (problems.length > 0) expect.fail([save(kind, seed, round), ...problems].join("\n\n"));
      for (const name of ["repeated", "doubled", "unknown"] as const) met[name] += round[name];
      for (const history of round.histories) {
        met.histories += 1;
        met.calls += history.length;
        if (!holdsInCallOrder(history, registerModel)) met.contended += 1;
      }
    }
    console.log(`${kind}: PERDURE_SEED=${SEED}: ${JSON.stringify(met)}`);
    expect(met.repeated).toBeGreaterThan(0);
    expect(met.doubled).toBeGreaterThan(0);
    expect(met.contended).toBeGreaterThan(0);
  },
);

/** Null if some order explains all answers. */
function problemOf(history: readonly Made[]): string | null {
  const { result, order } = checkHistory(history, registerModel);
  if (result === "linearizable") return null;
  const what =
    result === "violated"
      ? "No order explains this history:"
      : "The search for an order took too long. It is not known whether this history is linearizable:";
  return `${what}\n${formatHistory(history)}\nThe longest order:\n${formatHistory(order)}`;
}

/** Saves the histories of a round, so that they can be checked again. In the file, null stands for Infinity. */
function save(kind: StoreKind, seed: number, { histories }: Round): string {
  const file = join(tmpdir(), `perdure-register-${kind}-${seed}.json`);
  writeFileSync(file, JSON.stringify(histories));
  return `PERDURE_SEED=${seed}; the histories of the round are in ${file}`;
}
