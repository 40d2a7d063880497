// Stryker's test runner for this project: it loads test files once and runs their tests again for every mutant, where
// Vitest would load everything again. A mutant then costs milliseconds.
//   - For a mutant that runs while modules load, and after it, all modules are loaded again, under a different address.
//   - A test that fails under a mutant must pass right afterwards without it. If it does not, the mutant left state
//        behind: the process is given up and the mutant is tried in a new one.
//   - A test that is still running while its event loop has been idle for seconds hangs: a timeout. Stryker ends a
//        test that is busy forever, together with its process.
//   - Unhandled rejections are ignored: an earlier mutant may have caused them.

import { globSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";
import { INSTRUMENTER_CONSTANTS, type InstrumenterContext } from "@stryker-mutator/api/core";
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";
import {
  determineHitLimitReached,
  DryRunStatus,
  MutantRunStatus,
  TestStatus,
  type DryRunResult,
  type MutantRunOptions,
  type MutantRunResult,
  type TestResult,
  type TestRunner,
} from "@stryker-mutator/api/test-runner";
import fc from "fast-check";
import { partNamed } from "../parts.ts";
import { forgetTests, load, registered, type RegisteredTest } from "../test-api.ts";

/** Loaded modules stay in memory: after this many reloads a new process is better. */
const GENERATIONS_MAX = 60;
/** The number of consecutive checks that find the thread idle. */
const HUNG_LOOKS = 30;
const LOOK_MS = 100;
/** An event loop that was active for less than this between two checks was idle. */
const IDLE_MS = 5;

type Outcome =
  { readonly kind: "passed" } | { readonly kind: "failed" | "hung"; readonly message: string };

const KILLED = { status: MutantRunStatus.Killed, killedBy: [] as string[] } as const;

class WarmRunner implements TestRunner {
  readonly #mutation: InstrumenterContext = {};
  /** The duration of each test without a mutant. */
  readonly #usualMs = new Map<string, number>();
  /** The generation of loaded modules; none yet. */
  #generation = 0;

  capabilities() {
    return { reloadEnvironment: true };
  }

  async init(): Promise<void> {
    process.env["VITEST"] = "true";
    process.env["NODE_ENV"] = "test";
    Object.assign(globalThis, { [INSTRUMENTER_CONSTANTS.NAMESPACE]: this.#mutation });
    const api = pathToFileURL(join(import.meta.dirname, "../test-api.ts")).href;
    const sandbox = `${pathToFileURL(process.cwd()).href}/`;
    registerHooks({
      resolve: (specifier, context, next) => {
        if (specifier === "vitest") return { url: api, shortCircuit: true };
        const found = next(specifier, context);
        if (!found.url.startsWith(sandbox) || found.url.includes("/node_modules/")) return found;
        // More slashes make a different address for the same file.
        const slashes = "/".repeat(this.#generation - 1);
        return { ...found, url: `${sandbox}${slashes}${found.url.slice(sandbox.length)}` };
      },
    });
    process.on("unhandledRejection", () => undefined);
    process.on("uncaughtException", () => undefined);
    // The same cases for every mutant, and no shrinking: a failure is enough.
    fc.configureGlobal({ seed: 1, endOnFailure: true });
  }

  async dryRun(): Promise<DryRunResult> {
    await this.#load();
    const tests: TestResult[] = [];
    for (const test of registered) {
      this.#mutation.currentTestId = test.id;
      const began = performance.now();
      const outcome = await this.#run(test);
      const timeSpentMs = performance.now() - began;
      const known = { id: test.id, name: test.name, fileName: test.file, timeSpentMs };
      tests.push(
        outcome.kind === "passed"
          ? { ...known, status: TestStatus.Success }
          : { ...known, status: TestStatus.Failed, failureMessage: outcome.message },
      );
    }
    delete this.#mutation.currentTestId;
    const { mutantCoverage } = this.#mutation;
    delete this.#mutation.mutantCoverage;
    return { status: DryRunStatus.Complete, tests, ...(mutantCoverage && { mutantCoverage }) };
  }

  async mutantRun(options: MutantRunOptions): Promise<MutantRunResult> {
    const { activeMutant, hitLimit, testFilter, mutantActivation } = options;
    if (mutantActivation === "static") this.#activate(activeMutant.id, hitLimit);
    if (options.reloadEnvironment || this.#generation === 0) {
      if (this.#generation === GENERATIONS_MAX)
        throw new Error("the process has reloaded its modules too often and must be replaced");
      const trouble = await this.#load().then(() => null, String);
      if (trouble !== null) return { ...KILLED, failureMessage: trouble, nrOfTests: 0 };
    }
    this.#activate(activeMutant.id, hitLimit);
    let nrOfTests = 0;
    for (const test of this.#quickFirst(testFilter)) {
      nrOfTests += 1;
      const outcome = await this.#run(test);
      if (outcome.kind === "passed") continue;
      const { hitCount } = this.#mutation;
      delete this.#mutation.activeMutant;
      if (mutantActivation === "runtime" && (await this.#run(test)).kind !== "passed") {
        throw new Error(`"${test.name}" also fails without a mutant`);
      }
      if (outcome.kind === "hung" || determineHitLimitReached(hitCount, hitLimit) !== undefined) {
        return { status: MutantRunStatus.Timeout, reason: outcome.message };
      }
      const { message: failureMessage } = outcome;
      return { ...KILLED, killedBy: [test.id], failureMessage, nrOfTests };
    }
    delete this.#mutation.activeMutant;
    return { status: MutantRunStatus.Survived, nrOfTests };
  }

  async #load(): Promise<void> {
    this.#generation += 1;
    forgetTests(() => true);
    const { tests, without = [] } = partNamed(process.env["PERDURE_MUTATION_PART"]);
    for (const path of new Set(tests.flatMap((pattern) => globSync(pattern).toSorted()))) {
      await load(join(process.cwd(), path));
    }
    forgetTests(({ name }) => without.some((title) => name.endsWith(title)));
  }

  #activate(id: string, hitLimit: number | undefined): void {
    this.#mutation.activeMutant = id;
    this.#mutation.hitCount = 0;
    if (hitLimit === undefined) delete this.#mutation.hitLimit;
    else this.#mutation.hitLimit = hitLimit;
  }

  #quickFirst(ids: readonly string[] | undefined): RegisteredTest[] {
    const wanted = ids === undefined ? null : new Set(ids);
    const usual = ({ id }: RegisteredTest) => this.#usualMs.get(id) ?? 0;
    return registered
      .filter(({ id }) => wanted?.has(id) ?? true)
      .toSorted((one, other) => usual(one) - usual(other));
  }

  async #run(test: RegisteredTest): Promise<Outcome> {
    const began = performance.now();
    const { promise: hung, resolve: giveUp } = Promise.withResolvers<Outcome>();
    let looks = 0;
    let seen = performance.eventLoopUtilization();
    const looking = setInterval(() => {
      // Not the CPU time: on a busy machine, a test that runs gets little of it.
      const { active } = performance.eventLoopUtilization(seen);
      seen = performance.eventLoopUtilization();
      looks = active < IDLE_MS ? looks + 1 : 0;
      if (looks >= HUNG_LOOKS) giveUp({ kind: "hung", message: `"${test.name}" hangs` });
    }, LOOK_MS);
    const ended = test.run().then(
      (): Outcome => ({ kind: "passed" }),
      (error: unknown): Outcome => ({ kind: "failed", message: String(error) }),
    );
    const outcome = await Promise.race([ended, hung]);
    clearInterval(looking);
    if (outcome.kind === "passed") this.#usualMs.set(test.id, performance.now() - began);
    return outcome;
  }
}

/** The export that Stryker looks for in a plugin. */
export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, "warm", WarmRunner)];
