// Tags and sessions as filters: who may take which task, decided before the limit (semantics 15, K3).

import { expect } from "vitest";
import type { TagFilter } from "../../core/provider/index.ts";
import type { ContractSubject } from "./contract-case.ts";
import { BETA, newTask, scheduledText, sessionsOf } from "./fixture.ts";
import type { Setup } from "./setup.ts";

const TAGS: Readonly<Record<string, readonly string[] | null>> = {
  plain: null,
  gpu: ["gpu"],
  eu: ["eu"],
  both: ["gpu", "eu"],
  odd: ['it\'s, "odd"'],
};

/** The inputs of the tasks that a filter takes, of one task a set of tags. */
async function takenBy(setup: Setup, tags: TagFilter): Promise<string[]> {
  const held = await setup.hold("a");
  for (const [input, set] of Object.entries(TAGS)) await setup.schedule(held, { input, tags: set });
  const { tasks, more } = await setup.leaseTasks(BETA, { tags });
  expect(more).toBe(false);
  return tasks.map((task) => task.input).toSorted();
}

export const taskTags: ContractSubject = {
  subject: "task tags",
  cases: [
    {
      title: "an untagged worker takes tasks without tags and no others",
      async run(setup) {
        expect(await takenBy(setup, "untagged")).toEqual(["plain"]);
      },
    },
    {
      title: "a worker for any tags takes all tasks",
      async run(setup) {
        expect(await takenBy(setup, "any")).toEqual(Object.keys(TAGS).toSorted());
      },
    },
    {
      title: "a worker for none takes no task",
      async run(setup) {
        expect(await takenBy(setup, "none")).toEqual([]);
      },
    },
    {
      title: "a worker with tags takes what asks for a subset of them",
      async run(setup) {
        const filter = { tags: ["gpu", "cpu"], untagged: false };
        expect(await takenBy(setup, filter)).toEqual(["gpu"]);
      },
    },
    {
      title: "a worker with several tags takes tasks that ask for all of them",
      async run(setup) {
        const filter = { tags: ["eu", "gpu"], untagged: false };
        expect(await takenBy(setup, filter)).toEqual(["both", "eu", "gpu"]);
      },
    },
    {
      title: "a worker with tags takes untagged tasks if it says so",
      async run(setup) {
        const filter = { tags: ['it\'s, "odd"'], untagged: true };
        expect(await takenBy(setup, filter)).toEqual(["odd", "plain"]);
      },
    },
    {
      title: "tags are filtered before the limit, so that a foreign task starves no other (K3)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: Array.from({ length: 41 }, () => scheduledText()),
          tasks: Array.from({ length: 41 }, (_, i) =>
            newTask({ sequence: i + 2, tags: i === 40 ? null : ["gpu"], priority: 1 }),
          ),
        });
        const { tasks, more } = await setup.leaseTasks(BETA, { limit: 1, tags: "untagged" });
        expect(tasks.map((task) => task.sequence)).toEqual([42]);
        expect(more).toBe(false);
      },
    },
    {
      title: "a worker without sessions takes tasks without a session and no others",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { input: "with", session: "cart" });
        await setup.schedule(held, { input: "without" });
        const { tasks } = await setup.leaseTasks(BETA, { limit: 1, sessions: null });
        expect(tasks.map((task) => task.input)).toEqual(["without"]);
        const rest = await setup.leaseTasks(BETA, { sessions: sessionsOf(BETA) });
        expect(rest.tasks.map((task) => task.input)).toEqual(["with"]);
      },
    },
  ],
};
