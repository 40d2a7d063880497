// Whether the jobs came to what was worked out for them (I18), and nothing that was acknowledged was forgotten.

import { defaultCodec } from "../../../core/codec.ts";
import type { EndedInstance, EndOfRun } from "../workload.ts";
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

/** A job whose code ends no process, or no longer does. */
export function judgeJob(job: Job, script: JobScript, end: EndOfRun, frame: ExpectedFrame): void {
  const instance = end.instances.get(job.id);
  if (instance === undefined) return end.report(`${job.id} does not exist`);
  const { record } = instance;
  const kinds = new Set(job.controls.map(({ kind }) => kind));
  const isStopped = kinds.has("cancel") || kinds.has("terminate");
  if (kinds.has("cancel") && record.status === "cancelled") judgeUndone(job, instance, end);
  else if (isStopped && record.status === "terminated") {
    // ended by an operator, or because its clean-up outlasted its time: its code has nothing to say
  } else if (isStopped && !wasStoppedInVain(job, script, instance)) {
    end.report(`${job.id} was stopped, and is ${record.status}`);
  } else judgeResult(job, instance, end, frame);
  judgeOrder(job, instance, end);
  judgeDetached(job, instance, end, frame);
}

function judgeResult(job: Job, instance: EndedInstance, end: EndOfRun, frame: ExpectedFrame): void {
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
    end.report(`${job.id} came to ${brief(came)}, not to ${brief(shown(expected))}`);
  }
  if (record.status === "failed") judgeUndone(job, instance, end);
}

/** Large values are not printed whole. */
function brief(text: string | null): string {
  return text !== null && text.length > BRIEF_MAX ? `${text.slice(0, BRIEF_MAX)}…` : String(text);
}
const BRIEF_MAX = 300;

/** Messages of a mailbox come in order, each of them once, also across executions (P7). */
function judgeOrder({ id }: Job, { executions }: EndedInstance, end: EndOfRun): void {
  const wrong = [...executions.values()].flatMap(([started]) => {
    if (started?.kind !== "OrchestrationStarted") return [];
    const input = defaultCodec.decode(started.input) as RootInput; // written by runRoot
    return input.wrong ?? [];
  });
  if (wrong.length > 0) end.report(`${id} took ${JSON.stringify(wrong[0])} out of order`);
}

/** Compensations ran to their end, the last one first (semantics 19c). */
function judgeUndone(job: Job, { executions }: EndedInstance, end: EndOfRun): void {
  const events = [...executions.values()].at(-1) ?? [];
  const undone = events.flatMap((event) =>
    event.kind === "ActivityScheduled" && event.name === "undo" ? [event] : [],
  );
  const inputs = undone.map(({ input }) => defaultCodec.decode(input));
  const expected = job.input.undo.toReversed();
  // A cancel of what has not begun, or is blocked, ends it without running its code (19a): whatever was open
  // has no cancel of its own then. Its compensations may have been under way: those that ran are the first ones.
  const isCutOff = events.at(-2)?.kind === "OrchestrationCancelRequested";
  const due = isCutOff ? expected.slice(0, inputs.length) : expected;
  if (JSON.stringify(inputs) !== JSON.stringify(due)) {
    end.report(`${job.id} undid ${JSON.stringify(inputs)}, not ${JSON.stringify(expected)}`);
  }
}

/** A stop may lose the race against the end: at most one turn was under way when it was accepted. */
function wasStoppedInVain(job: Job, script: JobScript, { executions }: EndedInstance): boolean {
  if (script.refused.has("cancel") || script.refused.has("terminate")) return true;
  const events = [...executions.values()].flat();
  return (
    !events.some(({ kind }) => kind === "OrchestrationCancelRequested") && job.controls.length > 0
  );
}

/** What a job started and let go comes to its own result. */
function judgeDetached(
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
      if (started.has(id)) end.report(`${id} was started by ${job.id} and does not exist`);
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
      end.report(`${id} came to ${output ?? error}, not to ${shown(expected)}`);
    }
  }
}

/** Those that the job's own instance starts; a child's are its child's. */
function detachedIn(program: Program): (readonly [string, Program])[] {
  if (program.op === "detached") return [[program.id, program.body]];
  return program.op === "child" ? [] : partsOf(program).flatMap(detachedIn);
}
