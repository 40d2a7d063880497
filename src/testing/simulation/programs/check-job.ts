// Result checks: compares the result of each job with the expected one (C18).

import { defaultCodec } from "../../../core/values/codec.ts";
import type { EndedInstance, EndOfRun } from "../world/workload.ts";
import {
  expectedOf,
  matches,
  mayThrow,
  shown,
  type Expected,
  type ExpectedFrame,
} from "./expected.ts";
import type { RootInput } from "./interpreter.ts";
import type { JobScript } from "./job-script.ts";
import type { Job } from "./jobs.ts";
import { partsOf, type Program } from "./program.ts";

/** Checks a job whose code does not end its process, or has been fixed. */
export function checkJob(job: Job, script: JobScript, end: EndOfRun, frame: ExpectedFrame): void {
  const instance = end.instances.get(job.id);
  if (instance === undefined) return end.report(`${job.id} does not exist`);
  const { record } = instance;
  const kinds = new Set(job.controls.map(({ kind }) => kind));
  const isStopped = kinds.has("cancel") || kinds.has("terminate");
  if (kinds.has("cancel") && record.status === "cancelled") checkUndone(job, instance, end);
  else if (isStopped && record.status === "terminated") {
    // An operator, or the timeout of the cleanup, ended the instance: its code had no result.
  } else if (isStopped && !wasStoppedInVain(job, script, instance)) {
    end.report(`${job.id} was stopped, but is ${record.status}`);
  } else checkResult(job, instance, end, frame);
  checkOrder(job, instance, end);
  checkDetached(job, instance, end, frame);
}

function checkResult(job: Job, instance: EndedInstance, end: EndOfRun, frame: ExpectedFrame): void {
  const { record } = instance;
  const rounds = job.input.rounds.map((round) =>
    expectedOf({ op: "sequence", parts: [round] }, frame),
  );
  const items = rounds.flatMap((round) => (round.kind === "list" ? round.items : []));
  const expected: Expected =
    job.input.end === "throw" ? { kind: "throws" } : { kind: "list", items };
  const actual =
    record.status === "completed"
      ? { value: defaultCodec.decode(record.output ?? "null") }
      : ("threw" as const);
  const isOk = actual !== "threw" || record.status === "failed";
  if (!isOk || !matches(expected, actual)) {
    const came = actual === "threw" ? `${record.status}: ${record.error}` : record.output;
    end.report(`${job.id} ended with ${brief(came)}; expected ${brief(shown(expected))}`);
  }
  if (record.status === "failed") checkUndone(job, instance, end);
}

/** Shortens large values for the report. */
function brief(text: string | null): string {
  return text !== null && text.length > BRIEF_MAX ? `${text.slice(0, BRIEF_MAX)}…` : String(text);
}
const BRIEF_MAX = 300;

/** Checks that a mailbox received its messages in order and once each, also across executions (P7). */
function checkOrder({ id }: Job, { executions }: EndedInstance, end: EndOfRun): void {
  const wrong = [...executions.values()].flatMap(([started]) => {
    if (started?.kind !== "OrchestrationStarted") return [];
    const input = defaultCodec.decode(started.input) as RootInput; // written by runRoot
    return input.wrong ?? [];
  });
  if (wrong.length > 0) end.report(`${id} received ${JSON.stringify(wrong[0])} out of order`);
}

/** Checks that all compensations ran, the last one first (semantics 19c). */
function checkUndone(job: Job, { executions }: EndedInstance, end: EndOfRun): void {
  const events = [...executions.values()].at(-1) ?? [];
  const undone = events.flatMap((event) =>
    event.kind === "ActivityScheduled" && event.name === "undo" ? [event] : [],
  );
  const inputs = undone.map(({ input }) => defaultCodec.decode(input));
  const expected = job.input.undo.toReversed();
  // A cancel of an instance that has not begun, or is blocked, ends the instance without running its code
  // (19a). If compensations were running, only the first ones are recorded.
  const isCutOff = events.at(-2)?.kind === "OrchestrationCancelRequested";
  const due = isCutOff ? expected.slice(0, inputs.length) : expected;
  if (JSON.stringify(inputs) !== JSON.stringify(due)) {
    end.report(
      `${job.id} compensated ${JSON.stringify(inputs)}; expected ${JSON.stringify(expected)}`,
    );
  }
}

/**
 * Whether the instance ended before the stop took effect. At most one turn was in flight at the accepted
 * stop.
 */
function wasStoppedInVain(job: Job, script: JobScript, { executions }: EndedInstance): boolean {
  if (script.refused.has("cancel") || script.refused.has("terminate")) return true;
  const events = [...executions.values()].flat();
  return (
    !events.some(({ kind }) => kind === "OrchestrationCancelRequested") && job.controls.length > 0
  );
}

/** Checks the results of detached instances that a job started. */
function checkDetached(
  job: Job,
  { executions }: EndedInstance,
  end: EndOfRun,
  frame: ExpectedFrame,
): void {
  const bodies = new Map(job.input.rounds.flatMap(detachedIn));
  const started = new Set(
    [...executions.values()].flatMap((events) =>
      events.flatMap((event) => (event.kind === "DetachedStarted" ? event.id : [])),
    ),
  );
  for (const [id, body] of bodies) {
    const instance = end.instances.get(id);
    if (instance === undefined) {
      if (started.has(id)) end.report(`${id} was started by ${job.id}, but does not exist`);
      continue;
    }
    const { status, output, error } = instance.record;
    const expected = expectedOf(body, frame);
    const actual =
      status === "completed"
        ? { value: defaultCodec.decode(output ?? "null") }
        : ("threw" as const);
    if (status === "failed" && !mayThrow(expected)) end.report(`${id} failed: ${error}`);
    else if (status !== "completed" && status !== "failed") end.report(`${id} is ${status}`);
    else if (!matches(expected, actual)) {
      end.report(`${id} ended with ${output ?? error}; expected ${shown(expected)}`);
    }
  }
}

/** The detached instances that the job's root instance starts. Those of its children are not included. */
function detachedIn(program: Program): (readonly [string, Program])[] {
  if (program.op === "detached") return [[program.id, program.body]];
  return program.op === "child" ? [] : partsOf(program).flatMap(detachedIn);
}
