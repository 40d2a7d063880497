// Expected results: computes the result of a program without running it.

import type { AskNode, Opponent, Program, WorkNode } from "./program.ts";

/** The expected result of a program. */
export type Expected =
  | { readonly kind: "exactly"; readonly value: unknown }
  | { readonly kind: "list"; readonly items: readonly Expected[] }
  /** One of several results; timing decides which. */
  | { readonly kind: "oneOf"; readonly options: readonly Expected[] }
  | { readonly kind: "anything" }
  /** The program throws. */
  | { readonly kind: "throws" };

export interface ExpectedFrame {
  /** Whether crashes from other causes may make an activity fail as poison. */
  readonly mayPoison: boolean;
  /** Whether code may time out because its process stood still. */
  readonly mayStall: boolean;
  /** The expected result of an additional operation. */
  readonly extra: (name: string, data: unknown) => Expected;
}

/** The result of work: a hash of its salt, so that a wrong result cannot match by accident. */
export function mix(salt: number): number {
  return Math.imul(salt ^ (salt >>> 7), 0x45d9f3b) & 0x7fffffff;
}

/** A text of the given size. Every part of it is different, so a missing or duplicated part is detected. */
export function largeText(salt: number, bytes: number): string {
  const words: string[] = [];
  for (let length = 0, index = 0; length < bytes; index++) {
    const word = `${mix(salt * 1_000_003 + index)},`;
    words.push(word);
    length += word.length;
  }
  return words.join("").slice(0, bytes);
}

/** Whether every attempt of the work fails. */
export function failsForGood({
  fails,
  attempts,
  style,
}: Pick<WorkNode, "fails" | "attempts"> & Partial<Pick<WorkNode, "style">>): boolean {
  return fails >= attempts || (style === "nonRetryable" && fails > 0);
}

export const THROWN = "thrown";
export const DROPPED = "dropped";
/** The result of a killer after its code was fixed. */
export const FIXED = "fixed";
/** The result of work that ended before its cancellation. */
export const OUTLIVED = "outlived";
/** The results of a part that writes to a stream from the orchestration. */
export const WRITTEN = "written";
export const CLOSED = "closed";
const POISONED = ["failed", "poison"] as const;

export function expectedOf(program: Program, frame: ExpectedFrame): Expected {
  const of = (part: Program): Expected => expectedOf(part, frame);
  const ofQuiet = (part: Program): Expected => quiet(of(part));
  switch (program.op) {
    case "work": {
      const why = program.style === "timeout" ? "timeout" : "application";
      const failed = exactly(["failed", why]);
      if (failsForGood(program)) return orPoison(failed, frame);
      const value = exactly(mix(program.salt));
      const mayMissItsTime = why === "timeout" && program.fails > 0 && frame.mayStall;
      return orPoison(mayMissItsTime ? oneOf(value, failed) : value, frame);
    }
    case "step":
      return exactly(
        program.fails >= program.attempts ? ["failed", "application"] : mix(program.salt),
      );
    case "poison":
      return exactly(POISONED);
    case "kill":
      return exactly(FIXED);
    case "deadline":
      return orPoison(oneOf(exactly(mix(program.salt)), exactly(["failed", "timeout"])), frame);
    case "sleep":
      return exactly("slept");
    case "events": {
      const { count, bytes } = program;
      const values = Array.from({ length: count }, (_, index) => index);
      return exactly(bytes === undefined ? values : values.map((salt) => largeText(salt, bytes)));
    }
    case "ask":
      return expectedAnswer(program, frame);
    case "raise":
      return exactly("raised");
    case "write": // the check of the streams knows which one
      return oneOf(exactly(WRITTEN), exactly(CLOSED));
    case "streamed": {
      const value = exactly(failsForGood(program) ? ["failed", "application"] : mix(program.salt));
      return orPoison(value, frame);
    }
    case "callback": // the check of the callbacks knows which value
      return orPoison({ kind: "anything" }, frame);
    case "later":
      return orPoison({ kind: "anything" }, frame);
    case "serve":
      throw new Error("A server has no result.");
    case "mailbox":
      return exactly(program.count);
    case "spin":
      return exactly(program.times);
    case "large": {
      const text = largeText(program.salt, program.bytes);
      const value = exactly(program.isKept ? text : text.length);
      return program.where === "activity" ? orPoison(value, frame) : value;
    }
    case "state":
      return exactly([program.value, true]);
    case "chance":
    case "version":
      return { kind: "anything" };
    case "patched":
      return orPoison(oneOf(exactly(mix(program.salt)), exactly(mix(program.salt + 1))), frame);
    case "throw":
      return { kind: "throws" };
    case "child": {
      const body = of(program.body);
      return mapThrow(body, exactly(["child failed"]));
    }
    case "detached":
      return exactly("started");
    case "dropped":
      return orOutlived(exactly(DROPPED), program.against, frame);
    case "beaten":
      return orOutlived(of(program.winner), program.loser, frame);
    case "shield":
      return of(program.body);
    case "sequence":
      return { kind: "list", items: program.parts.map(ofQuiet) };
    case "all":
      return joined(program.parts.map(of), (items) => ({ kind: "list", items }));
    case "allSettled":
      return { kind: "list", items: program.parts.map(ofQuiet) };
    case "race":
      return oneOf(...program.parts.map((part, index) => indexed(index, of(part))));
    case "any": {
      const parts = program.parts.map(of);
      const won = parts.filter((part) => !alwaysThrows(part)).map(withoutThrow);
      if (parts.some((part) => !mayThrow(part))) return oneOf(...won);
      return oneOf(...won, { kind: "throws" });
    }
    case "extra":
      return frame.extra(program.name, program.data);
  }
}

function expectedAnswer({ salt, style, mayEnd, start }: AskNode, frame: ExpectedFrame): Expected {
  const failed = exactly(asked("failed"));
  const answer =
    style === "refuse" ? exactly(asked("refused")) : style === "fail" ? failed : exactly(mix(salt));
  return oneOf(
    answer,
    ...(style === "work" && frame.mayPoison ? [failed] : []),
    // A cancel of the server ends its handlers.
    ...(mayEnd ? [exactly(asked("INSTANCE_FINISHED")), failed] : []),
    ...(start === null ? [exactly(asked("INSTANCE_NOT_FOUND"))] : []),
  );
}

/** The result of an ask without an answer. */
export function asked(outcome: string): readonly string[] {
  return ["asked", outcome];
}

/** The expected result of a part whose errors the surrounding program catches. */
function quiet(expected: Expected): Expected {
  return mapThrow(expected, exactly(THROWN));
}

function joined(items: readonly Expected[], join: (items: Expected[]) => Expected): Expected {
  if (items.some(alwaysThrows)) return { kind: "throws" };
  const value = join(items.map(withoutThrow));
  return items.some(mayThrow) ? oneOf(value, { kind: "throws" }) : value;
}

function indexed(index: number, expected: Expected): Expected {
  if (alwaysThrows(expected)) return expected;
  const value: Expected = { kind: "list", items: [exactly(index), withoutThrow(expected)] };
  return mayThrow(expected) ? oneOf(value, { kind: "throws" }) : value;
}

function alwaysThrows(expected: Expected): boolean {
  if (expected.kind === "oneOf") return expected.options.every(alwaysThrows);
  return expected.kind === "throws";
}
export function mayThrow(expected: Expected): boolean {
  if (expected.kind === "oneOf") return expected.options.some(mayThrow);
  return expected.kind === "throws";
}
function withoutThrow(expected: Expected): Expected {
  if (expected.kind !== "oneOf") return expected;
  return oneOf(...expected.options.filter((option) => option.kind !== "throws").map(withoutThrow));
}
function mapThrow(expected: Expected, instead: Expected): Expected {
  if (expected.kind === "throws") return instead;
  if (expected.kind !== "oneOf") return expected;
  return oneOf(...expected.options.map((option) => mapThrow(option, instead)));
}

function orPoison(expected: Expected, { mayPoison }: ExpectedFrame): Expected {
  return mayPoison ? oneOf(expected, exactly(POISONED)) : expected;
}

function orOutlived(expected: Expected, opponent: Opponent, frame: ExpectedFrame): Expected {
  if (opponent !== "long") return expected;
  const thrown: readonly Expected[] = frame.mayPoison ? [{ kind: "throws" }] : [];
  return oneOf(expected, exactly(OUTLIVED), ...thrown);
}

function exactly(value: unknown): Expected {
  return { kind: "exactly", value };
}
function oneOf(...options: readonly Expected[]): Expected {
  return { kind: "oneOf", options };
}

/** Whether a value matches the expected result. A program that threw has no value. */
export function matches(
  expected: Expected,
  actual: { readonly value: unknown } | "threw",
): boolean {
  switch (expected.kind) {
    case "throws":
      return actual === "threw";
    case "oneOf":
      return expected.options.some((option) => matches(option, actual));
    case "anything":
      return actual !== "threw";
    case "exactly":
      return actual !== "threw" && JSON.stringify(actual.value) === JSON.stringify(expected.value);
    case "list": {
      if (actual === "threw" || !Array.isArray(actual.value)) return false;
      const values: readonly unknown[] = actual.value;
      if (values.length !== expected.items.length) return false;
      return expected.items.every((item, index) => matches(item, { value: values[index] }));
    }
  }
}

export function shown(expected: Expected): string {
  switch (expected.kind) {
    case "exactly":
      return JSON.stringify(expected.value) ?? "undefined";
    case "list":
      return `[${expected.items.map(shown).join(", ")}]`;
    case "oneOf":
      return `(${expected.options.map(shown).join(" | ")})`;
    case "anything":
      return "…";
    case "throws":
      return "an error";
  }
}
