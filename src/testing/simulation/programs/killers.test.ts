// When a run may end although a killer is quarantined (KI3).

import { expect, test } from "vitest";
import type { Job } from "./jobs.ts";
import { Killers } from "./killers.ts";

const QUARANTINED = {
  id: "killer",
  blocked: JSON.stringify({ code: "QUARANTINE", message: "its process died" }),
};

function killer(salt: number): Job {
  return {
    id: "killer",
    slot: 0,
    startAtMs: 0,
    delayMs: null,
    priority: 3,
    version: null,
    input: { rounds: [{ op: "kill", where: "turn", fixed: false, salt }], undo: [], end: "return" },
    controls: [],
    ahead: null,
    startsTwice: null,
    awaits: false,
    restarts: false,
  };
}

test("KI3: a run goes on until the operator has unblocked a quarantined killer", () => {
  const killers = new Killers([killer(2)]);
  expect(killers.mayWait(QUARANTINED)).toBe(false);
  expect(killers.quarantine(QUARANTINED)).toBe("unblock");
  expect(killers.mayWait({ ...QUARANTINED, blocked: null })).toBe(false);
  expect(killers.mayWait(QUARANTINED)).toBe(true);
  expect(killers.quarantine(QUARANTINED)).toBe("leave");
});

test("a run may end while a killer is quarantined that the operator leaves alone", () => {
  const killers = new Killers([killer(1)]);
  expect(killers.mayWait(QUARANTINED)).toBe(true);
  expect(killers.quarantine(QUARANTINED)).toBe("leave");
});
