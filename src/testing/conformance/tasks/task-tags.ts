// Contract of tag and session filters: they select the tasks of a runtime before the limit applies
// (semantics 15, provider.tasks.3).

import { expect } from "vitest";
import type { TagFilter } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import { BETA, sessionsOf } from "../fixture.ts";
import type { Setup } from "../setup.ts";

const TAGS: Readonly<Record<string, readonly string[] | null>> = {
  plain: null,
  gpu: ["gpu"],
  eu: ["eu"],
  both: ["gpu", "eu"],
  odd: ['it\'s, "odd"'],
};

/** Queues one task per set of tags; returns the inputs of the tasks that a filter selects. */
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
      title: "an untagged worker takes only tasks without tags",
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
      title: 'a worker with the filter "none" takes no task',
      async run(setup) {
        expect(await takenBy(setup, "none")).toEqual([]);
      },
    },
    {
      title: "a worker with tags takes tasks that require a subset of its tags",
      async run(setup) {
        const filter = { tags: ["gpu", "cpu"], untagged: false };
        expect(await takenBy(setup, filter)).toEqual(["gpu"]);
      },
    },
    {
      title: "a worker with several tags takes tasks that require all of them",
      async run(setup) {
        const filter = { tags: ["eu", "gpu"], untagged: false };
        expect(await takenBy(setup, filter)).toEqual(["both", "eu", "gpu"]);
      },
    },
    {
      title: "a worker with tags also takes untagged tasks if its filter allows them",
      async run(setup) {
        const filter = { tags: ['it\'s, "odd"'], untagged: true };
        expect(await takenBy(setup, filter)).toEqual(["odd", "plain"]);
      },
    },
    {
      title:
        "tags are filtered before the limit, so tasks with other tags do not starve any task (provider.tasks.3)",
      async run(setup) {
        const tagsOf = (index: number) => (index === 40 ? null : ["gpu"]);
        await setup.holdTasks("a", 41, (index) => ({ tags: tagsOf(index), priority: 1 }));
        const { tasks, more } = await setup.leaseTasks(BETA, { limit: 1, tags: "untagged" });
        expect(tasks.map((task) => task.sequence)).toEqual([42]);
        expect(more).toBe(false);
      },
    },
    {
      title: "a worker without sessions takes only tasks without a session",
      async run(setup) {
        const { held } = await setup.holdTask("a", { input: "with", session: "cart" });
        await setup.schedule(held, { input: "without" });
        const { tasks } = await setup.leaseTasks(BETA, { limit: 1, sessions: null });
        expect(tasks.map((task) => task.input)).toEqual(["without"]);
        const rest = await setup.leaseTasks(BETA, { sessions: sessionsOf(BETA) });
        expect(rest.tasks.map((task) => task.input)).toEqual(["with"]);
      },
    },
  ],
};
