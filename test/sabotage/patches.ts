// The bugs that other systems had, as patches to ours: what `npm run sabotage` applies one at a time.
//   SB1. `from` stands in its file exactly once; a patch that no longer fits is an error, not a pass.
//   SB2. `tests` are files of the commit tier that must find it; the first that does is named in the table.

export interface Patch {
  /** The bug, as somebody would tell it. */
  readonly bug: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly tests: readonly string[];
  /** Of their tests, those whose names match; all if it is absent. */
  readonly only?: string;
}

const SQLITE = "test/conformance/sqlite.test.ts";
const POSTGRES = "test/conformance/postgres.test.ts";

export const PATCHES: readonly Patch[] = [
  {
    bug: "a queue of one name keeps instances of every other name waiting",
    file: "src/runtime/work-intake.ts",
    from: "...(heldBack.length === 0 ? {} : { heldBack }),",
    to: "",
    tests: ["test/scenarios/fairness.test.ts"],
  },
  {
    bug: "instances whose activities run hold back others of their name",
    file: "src/runtime/turn-results.ts",
    from: "window.hasBegun(held);",
    to: "return;",
    tests: ["test/scenarios/fairness.test.ts"],
  },
  {
    bug: "a begin window that is full opens at the next poll only",
    file: "src/runtime/parts.ts",
    from: "onFull: (opensInMs) => intake.wakeInstancesIn(opensInMs),",
    to: "onFull: () => undefined,",
    tests: ["test/scenarios/fairness.test.ts"],
  },
  {
    bug: "a turn is committed without a look at its token",
    file: "src/sqlite/turn.ts",
    from: "key = ?1 AND execution = ?2 AND lease_token = ?3 AND last_event = ?4",
    to: "key = ?1 AND execution = ?2 AND ?3 IS NOT NULL AND last_event = ?4",
    tests: [SQLITE],
  },
  {
    bug: "a completion is accepted from whoever lost the task",
    file: "src/sqlite/tasks.ts",
    from: 'const CLAIM = "instance = ? AND execution = ? AND sequence = ? AND lease_token = ?";',
    to: 'const CLAIM = "instance = ? AND execution = ? AND sequence = ? AND ? IS NOT NULL";',
    tests: [SQLITE],
  },
  {
    bug: "a clock that is set back goes unnoticed, and work that was due waits for it to catch up",
    file: "src/sqlite/clock.ts",
    from: "behindMs > TOLERANCE_MS ? behindMs : 0",
    to: "behindMs > Infinity ? behindMs : 0",
    tests: ["src/sqlite/clock.test.ts", "test/reliability/clocks.test.ts"],
  },
  {
    bug: "half of a failed transaction is kept",
    file: "src/sqlite/connection.ts",
    from: 'this.#database.exec("ROLLBACK")',
    to: 'this.#database.exec("COMMIT")',
    tests: ["src/sqlite/commit.test.ts", SQLITE],
  },
  {
    bug: "messages are deleted when they are read, before history holds them",
    file: "src/sqlite/inbox.ts",
    from: "const due = this.#selectDue.all(instance, now, messagesMax).map(toMessage);",
    to: `const due = this.#selectDue.all(instance, now, messagesMax).map(toMessage);
    for (const { id } of due) this.#delete.run(id, instance);`,
    tests: [SQLITE],
  },
  {
    bug: "the code of an execution runs before the cancel that was pending when it began",
    file: "src/runtime/turn-job.ts",
    from: 'body.kind === "OrchestrationStarted" ? this.#pendingCancel() : null',
    to: 'this.#messages.length < 0 && body.kind === "OrchestrationStarted" ? this.#pendingCancel() : null',
    tests: ["test/scenarios/cancel-of-loops.test.ts"],
  },
  {
    bug: "a row without a checksum is read unchecked",
    file: "src/core/checksum.ts",
    from: "if (checksum === null) return parts.some((part) => part !== null);",
    to: "if (checksum === null) return false;",
    tests: ["src/core/checksum.test.ts"],
  },
  {
    bug: "a worker replays rows of history without verifying their seals",
    file: "src/runtime/make-run.ts",
    from: "verifyRows(rows, { id, runId, execution }, options.codec.rowSeal);",
    to: "verifyRows(rows, { id, runId, execution }, undefined);",
    tests: ["test/encryption/moved-rows.test.ts"],
  },
  {
    bug: "the seals of a history can be removed",
    file: "src/core/history-seal.ts",
    from: "let isRequired = seal.demands(started.input);",
    to: "let isRequired = false;",
    tests: ["test/encryption/moved-rows.test.ts"],
  },
  {
    bug: "a message for an instance that does not exist yet is dropped",
    file: "src/sqlite/kept.ts",
    from: "this.#insert.run(id, requestId, now, name, data, checksum, requestDigest ?? null);",
    to: "void [id, requestId, now, name, data, checksum, requestDigest];",
    tests: [SQLITE],
  },
  {
    bug: "leases end by the worker's clock, not by the store's",
    file: "src/postgres/clock.ts",
    from: 'return this.#isOwn ? String(this.now()) : "";',
    to: "return String(Math.floor(this.#environment.now()));",
    tests: ["test/postgres/clock.test.ts"],
  },
  {
    bug: "a database that somebody else has locked fails the call",
    file: "src/sqlite/patience.ts",
    from: "if (!isBusy(error)) throw error;",
    to: "if (since === undefined || !isBusy(error)) throw error;",
    tests: ["src/sqlite/busy.test.ts"],
  },
  {
    bug: "synchronous is off",
    file: "src/sqlite/settings.ts",
    from: "{ full: 2, normal: 1 }",
    to: "{ full: 0, normal: 0 }",
    tests: ["test/reliability/durability.test.ts"],
  },
  {
    bug: "a commit that failed fails its caller, though it could be tried again",
    file: "src/core/committer.ts",
    from: "for (const listener of this.onTrouble) listener(error, attempt + 1);\n        await this.#backOff(attempt);",
    to: "return rejectAll(waiting);",
    tests: ["test/trouble/store-errors.test.ts"],
  },
  {
    bug: "a commit whose answer was lost is sent again without asking whether it went through",
    file: "src/core/committer.ts",
    from: "waiting = await this.#settle(waiting);",
    to: "void this.#settle;",
    tests: ["test/trouble/store-errors.test.ts"],
  },
  {
    bug: "LISTEN is not made again after its connection broke",
    file: "src/postgres/listener.ts",
    from: "#reopen(): void {\n    if (this.#closed) return;",
    to: "#reopen(): void {\n    if (this.#failures >= 0) return;",
    tests: ["test/postgres/notifications.test.ts"],
  },
  {
    bug: "handing a task back counts as an attempt",
    file: "src/sqlite/tasks.ts",
    from: "`UPDATE tasks SET ${FREE} WHERE ${CLAIM}`",
    to: "`UPDATE tasks SET attempt = attempt + 1, ${FREE} WHERE ${CLAIM}`",
    tests: [SQLITE],
  },
  {
    bug: "a timer of thirty days overflows the host's and fires at once",
    file: "src/core/timer-wheel.ts",
    from: "Math.min(options.hopMsMax ?? HOP_MS_DEFAULT, TIMER_MAX_MS)",
    to: "Math.max(options.hopMsMax ?? HOP_MS_DEFAULT, 2 * TIMER_MAX_MS)",
    tests: ["src/core/timer-wheel.test.ts"],
  },
  {
    bug: "timers fire a little early",
    file: "src/sqlite/inbox.ts",
    from: "const visibleAt = dueTime(timer, now);",
    to: "const visibleAt = dueTime(timer, now) - 5;",
    tests: [SQLITE],
  },
  {
    bug: "an event that cannot be read is passed over",
    file: "src/core/history-row.ts",
    from: "if (!isEventBody(body)) throw corrupt(row, `it holds an unknown event ${preview(body)}`);",
    to: "if (!isEventBody(body)) {\n      void preview;\n      continue;\n    }",
    tests: ["src/core/history-row.test.ts"],
  },
  {
    bug: "replay runs the newest version of the code",
    file: "src/runtime/registry.ts",
    from: "if (wanted === undefined) return versions?.[0];",
    to: 'if (wanted !== "never") return versions?.[0];',
    tests: ["test/scenarios/versioning.test.ts"],
  },
  {
    bug: "a second completion of one task is accepted",
    file: "src/sqlite/tasks.ts",
    from: "if (!changed(this.#delete.run(key, execution, sequence, token))) return false;",
    to: "this.#delete.run(key, execution, sequence, token);",
    tests: [SQLITE],
  },
  {
    bug: "tasks are filtered by name after the limit was applied",
    file: "src/sqlite/task-cuts.ts",
    from: "if (!known.has(name) || (suspect === 1 && !allowSuspect)) return false;",
    to: 'if (known.size === 0 || name === "" || (suspect === 1 && !allowSuspect)) return false;',
    tests: [SQLITE],
  },
  {
    bug: "instances are locked in another order by every process",
    file: "src/postgres/instances.ts",
    from: "ORDER BY u.key + 0) AS w",
    to: "ORDER BY md5(pg_backend_pid()::text || u.key::text)) AS w",
    tests: ["test/postgres/lock-order.test.ts"],
  },
  {
    bug: "history is kept as jsonb",
    file: "src/postgres/migrations/0001-initial.sql",
    from: "  data      text NOT NULL,",
    to: "  data      jsonb NOT NULL,",
    tests: [POSTGRES],
  },
  {
    bug: "keys of users' values are renamed on the way",
    file: "src/core/codec.ts",
    from: "if (canStringify(value)) return JSON.stringify(value);",
    to: 'if (canStringify(value)) return JSON.stringify(value).replaceAll(/_([a-z])(?=[^"]*":)/g, (_, c: string) => c.toUpperCase());',
    tests: ["src/core/codec.test.ts"],
  },
  {
    bug: "tables are made without a lock",
    file: "src/postgres/migrations.ts",
    from: 'await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [',
    to: 'await client.query("SELECT hashtextextended($1, 0)", [',
    tests: ["test/postgres/opening.test.ts"],
  },
  {
    bug: "continueAsNew carries over twenty unread events, and drops the rest",
    file: "src/runtime/turn-commit.ts",
    from: "const unread = run.mailbox.unread();",
    to: "const unread = run.mailbox.unread().slice(0, 20);",
    tests: ["test/scenarios/unread-messages.test.ts"],
  },
  {
    bug: "a runtime that closes does not wait until its tasks are handed back",
    file: "src/runtime/work.ts",
    from: "await this.#atMost(this.#outcomes.handBack(this.activities.abandonAll(reason)));",
    to: "void this.activities.abandonAll(reason);",
    tests: ["test/lifecycle", "test/routing"],
  },
  {
    bug: "versions are compared by the rules of a language",
    file: "src/core/semver.ts",
    from: "return a < b ? -1 : 1;",
    to: 'return a.localeCompare(b, "en");',
    tests: ["src/core/semver.test.ts"],
  },
  {
    bug: "a paused instance goes on",
    file: "src/sqlite/turn.ts",
    from: "const FENCE = `${HELD} AND paused IS NULL`;",
    to: "const FENCE = HELD;",
    tests: [SQLITE],
  },
  {
    bug: "a call that was cancelled can still be completed",
    file: "src/sqlite/tasks.ts",
    from: "if (changed(this.#cancel.run(instance, execution, sequence))) news.withdrawn();",
    to: "if (instance + execution + sequence > 0) news.withdrawn();",
    tests: [SQLITE],
  },
  {
    bug: "the runtime that is declared dead keeps its leases",
    file: "src/sqlite/runtimes.ts",
    from: "return { expired: true, ...this.#buryAll(id, transaction) };",
    to: "void this.#buryAll;\n      return { expired: true, instances: 0, tasks: 0 };",
    tests: [SQLITE],
  },
  {
    bug: "the same request id sends twice",
    file: "src/sqlite/send.ts",
    from: "if (earlier !== null) return isOtherRequest",
    to: 'if (earlier !== null && requestId === "") return isOtherRequest',
    tests: [SQLITE],
  },
  {
    bug: "an upgrade draws other random numbers for instances that are under way",
    file: "src/core/deterministic.ts",
    from: "`perdure.${kind}.1:${seed}:${sequence}:${call}`",
    to: "`perdure.${kind}.1:${seed}:${call}:${sequence}`",
    tests: ["test/histories/replay.test.ts"],
  },
  {
    bug: "finished turns stay in memory with their payloads",
    file: "src/runtime/pump.ts",
    from: "this.#waiting[this.#head++] = null;",
    to: "this.#head++;",
    tests: ["src/runtime/pump.test.ts", "test/scenarios/memory.test.ts"],
  },
  {
    bug: "a batch of activities that compute holds the event loop until the last one is done",
    file: "src/runtime/loop-slice.ts",
    from: "if (now - this.#began < SLICE_MS) return true;",
    to: "if (now >= this.#began) return true;",
    tests: ["test/scenarios/loop-turns.test.ts"],
  },
  {
    bug: "an Idempotency-Key is the same request whoever sends it",
    file: "src/server/request-binding.ts",
    from: "JSON.stringify([caller, operation,",
    to: "JSON.stringify([operation,",
    tests: ["test/server/repeats.test.ts"],
  },
  {
    bug: "a short send passes a large one that was sent before it to the same instance",
    file: "src/core/commit-queue.ts",
    from: "if (!isShort || passed.has(instance)) {",
    to: "if (!isShort) {",
    tests: ["src/core/commit-queue.test.ts"],
  },
  {
    bug: "a backup starts again after every commit of another process",
    file: "src/sqlite/backup.ts",
    from: 'database.exec("BEGIN");',
    to: "",
    tests: ["src/sqlite/backup.test.ts"],
  },
];
