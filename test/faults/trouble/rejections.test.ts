// Unhandled rejections: those of handlers are logged once with a name and end nothing; all others are left to Node.

import { expect, test } from "vitest";
import { runProgram, type Program } from "./child.ts";

test("an unhandled rejection in an activity, a step or an orchestration is logged once, with its name, and the process survives", async () => {
  const program = runProgram("floating-rejections", "ours");
  expect(await program.ended).toBe(0);
  expect(program.said.at(-1)).toEqual({ what: "alive" });
  const of = (name: string) => `an instance of ${name}`;
  expect(leftBehind(program)).toEqual([
    { error: "left behind at once", activity: "leaky", instance: of("leaky activity") },
    { error: "left behind by a step", step: "sloppy", instance: of("leaky step") },
    { error: "left behind by code", orchestration: "leaky code", instance: of("leaky code") },
    { error: "left behind later", activity: "leaky", instance: of("leaky activity") },
    { error: "lost", activity: "doubly", instance: of("activity that also throws") },
    // An async function of the orchestration itself; an unawaited task is not an unhandled rejection.
    { error: "only thrown", orchestration: "leaky code", instance: of("leaky code") },
  ]);
});

test("an unhandled rejection of the user's own program ends the process as it would without Perdure", async () => {
  const deadly = ["unrelated", "non-error", "unrelated after the end"];
  const programs = deadly.map((kind) => runProgram("floating-rejections", kind));
  expect(await Promise.all(programs.map((program) => program.ended))).toEqual([1, 1, 1]);
  expect(programs.map((program) => program.said.at(-1))).toEqual([
    { what: "open" },
    { what: "open" },
    { what: "closed" },
  ]);
  const [error, text, after] = programs.map((program) => program.stderr());
  expect(error).toContain("Error: not Perdure's business");
  expect(text).toContain("just a text");
  expect(after).toContain("Error: not Perdure's business");
});

test("an unhandled rejection handled by the user's own listener is not logged by Perdure", async () => {
  const program = runProgram("floating-rejections", "user's own listener");
  expect(await program.ended).toBe(0);
  const theirs = program.said.filter(({ what }) => what === "theirs");
  expect(theirs).toContainEqual({ what: "theirs", reason: "Error: not Perdure's business" });
  expect(leftBehind(program).map(({ error }) => error)).not.toContain("not Perdure's business");
});

test("after the user's handler survived an unhandled rejection, those of handlers still do not end the process", async () => {
  const program = runProgram("floating-rejections", "unrelated with a handler");
  expect(await program.ended).toBe(0);
  expect(program.said.filter(({ what }) => what === "uncaught")).toEqual([
    { what: "uncaught", error: "not Perdure's business" },
  ]);
  expect(leftBehind(program)).toHaveLength(6);
});

/** The warnings about unhandled rejections, sorted by their texts. */
function leftBehind(program: Program) {
  return program.said
    .filter(
      ({ what, message }) =>
        what === "log" && String(message).includes("unhandled promise rejection"),
    )
    .map(({ what: _what, message: _message, level, ...rest }) => {
      expect(level).toBe("warn");
      return rest;
    })
    .sort((a, b) => (String(a["error"]) < String(b["error"]) ? -1 : 1));
}
