// Contract of instance leases: which instances a runtime gets, in which order, and with which messages
// (provider.instances.3, semantics 14, 16).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  eventText,
  fresh,
  heldFrom,
  ORDER,
  registration,
  sendItem,
  startItem,
  VERSION,
  type TurnFields,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

const AGEING_MS = 300_000;
const CONTINUED = JSON.stringify({ kind: "OrchestrationContinuedAsNew", input: "2" });

/** Commits the first turn of "a" with a later replay version, and releases the instance. */
async function turnOfLaterReplay(
  setup: Setup,
  fieldsOf: (started: string) => TurnFields,
): Promise<void> {
  const leased = await setup.leaseOnly("a");
  const [start] = leased.messages;
  await setup.turn(heldFrom(leased), {
    version: VERSION,
    replayVersion: 2,
    consumed: [start?.id ?? -1],
    ...fieldsOf(start?.data ?? ""),
    release: true,
  });
}

export const leasesInstances: ContractSubject = {
  subject: "instance leases",
  cases: [
    {
      title: "an instance is leased to one runtime at a time",
      async run(setup) {
        await setup.start("a");
        await setup.leaseOnly("a", ALPHA);
        await setup.leaseNothing(BETA);
        expect(await setup.read("a")).toMatchObject({ owner: ALPHA });
      },
    },
    {
      title: "two concurrent lease calls return disjoint sets of instances",
      async run(setup) {
        await setup.provider.commit(
          Array.from({ length: 40 }, (_, i) => startItem({ id: `shared-${i}` })),
        );
        const shares = await Promise.all([
          setup.lease(ALPHA, { limit: 25 }),
          setup.lease(BETA, { limit: 25 }),
        ]);
        const ids = shares.flatMap((share) => share.instances.map((instance) => instance.id));
        expect(ids).toHaveLength(40);
        expect(new Set(ids).size).toBe(40);
      },
    },
    {
      title: "within one priority, the instance that became due first is leased first (16)",
      async run(setup) {
        await setup.start("late", { delayMs: 2_000 });
        await setup.start("soon", { delayMs: 1_000 });
        await setup.environment.advance(3_000);
        await setup.leaseOnly("soon", BETA, { limit: 1 });
        await setup.leaseOnly("late", ALPHA, { limit: 1 });
      },
    },
    {
      title: "a lease returns all fields of the instance and the token of the request",
      async run(setup) {
        const item = startItem({ id: "a", version: VERSION, priority: 2 });
        await setup.commit(item);
        const { key } = await setup.read("a");
        const token = fresh();
        const leased = await setup.leaseOnly("a", BETA, { token });
        expect(leased).toMatchObject({
          key,
          id: "a",
          runId: item.runId,
          name: ORDER,
          version: VERSION,
          execution: 1,
          token,
          lastEvent: 0,
          priority: 2,
          suspicion: 0,
          blocked: null,
          fresh: true,
          history: [],
        });
        expect(leased.messages).toEqual(await setup.provider.readInbox(key));
      },
    },
    {
      title: "a turn with the token of a lease is committed",
      async run(setup) {
        await setup.start("a");
        const held = heldFrom(await setup.leaseOnly("a", BETA));
        await setup.turn(held, { events: [eventText()], version: VERSION });
        expect(await setup.read("a")).toMatchObject({ status: "running", version: VERSION });
      },
    },
    {
      title: "an instance without a version is leased by its name",
      async run(setup) {
        await setup.start("a", { name: "ship" });
        await setup.leaseNothing(BETA, { targets: ["order", "ship@1.0.0", "shi", "ship2"] });
        await setup.leaseOnly("a", BETA, { targets: ["ship"] });
      },
    },
    {
      title: "an instance with a version is leased only by name and version (22)",
      async run(setup) {
        await setup.start("a", { name: "ship", version: "1.2.0" });
        await setup.leaseNothing(BETA, { targets: ["ship", "ship@1.2.1", "ship@1.2"] });
        await setup.leaseOnly("a", BETA, { targets: ["order", "ship@1.2.0"] });
      },
    },
    {
      title: "once the first turn sets a version, the instance is leased only by that version",
      async run(setup) {
        const held = await setup.hold("a", { name: "ship" });
        await setup.turn(held, { release: true });
        await setup.commit(sendItem({ id: "a" }));
        await setup.leaseNothing(BETA, { targets: ["ship"] });
        await setup.leaseOnly("a", BETA, { targets: [`ship@${VERSION}`] });
      },
    },
    {
      title: "a runtime with no targets leases nothing",
      async run(setup) {
        await setup.start("a");
        await setup.leaseNothing(BETA, { targets: [] });
      },
    },
    {
      title:
        "targets are filtered before the limit, so instances of other targets do not starve any instance (14)",
      async run(setup) {
        await setup.provider.commit(
          Array.from({ length: 50 }, (_, i) =>
            startItem({ id: `foreign-${i}`, name: "unregistered", priority: 1 }),
          ),
        );
        await setup.environment.advance(10);
        await setup.start("a");
        await setup.leaseOnly("a", BETA, { limit: 1 });
        expect(await setup.read("foreign-0")).toMatchObject({ status: "pending", owner: null });
      },
    },
    {
      title:
        "a lease returns at most the requested number of instances and reports whether more are due",
      async run(setup) {
        await setup.provider.commit(
          Array.from({ length: 5 }, (_, i) => startItem({ id: `n${i}` })),
        );
        const first = await setup.lease(ALPHA, { limit: 3 });
        expect(first.instances).toHaveLength(3);
        expect(first.more).toBe(true);
        const second = await setup.lease(BETA, { limit: 3 });
        expect(second.instances).toHaveLength(2);
        expect(second.more).toBe(false);
      },
    },
    {
      title: "an instance of a higher priority is leased first (16)",
      async run(setup) {
        for (const priority of [3, 5, 1, 4, 2]) await setup.start(`p${priority}`, { priority });
        const taken: string[] = [];
        for (let i = 0; i < 5; i++) {
          await setup.provider.registerRuntime(registration({ id: `runtime-${i}` }));
          const { instances } = await setup.lease(`runtime-${i}`, { limit: 1 });
          taken.push(instances[0]?.id ?? "none");
        }
        expect(taken).toEqual(["p1", "p2", "p3", "p4", "p5"]);
      },
    },
    {
      title: "an instance without due messages is not leased",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()], release: true });
        const { more, nextAt } = await setup.leaseNothing();
        expect({ more, nextAt }).toEqual({ more: false, nextAt: null });
      },
    },
    {
      title: "an ended instance is not leased, even if its inbox is not empty",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        await setup.complete(held);
        await setup.leaseNothing(ALPHA);
        await setup.leaseNothing(BETA);
      },
    },
    {
      title:
        "the owner receives new messages of its instance under its current token and without history",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a", data: '"news"' }));
        const leased = await setup.leaseOnly("a", ALPHA);
        expect(leased).toMatchObject({
          fresh: false,
          token: held.token,
          history: [],
          lastEvent: 1,
        });
        expect(leased.messages.map((message) => message.data)).toEqual(['"news"']);
        await setup.turn(held, { events: [eventText()] });
      },
    },
    {
      title: "an instance that its owner runs takes no room from others, if the owner says so",
      async run(setup) {
        await setup.hold("a", { owner: ALPHA });
        await setup.commit(sendItem({ id: "a" }));
        await setup.environment.advance(10);
        await setup.start("b");
        await setup.start("c");
        const alone = await setup.lease(ALPHA, { limit: 1 });
        expect(alone).toMatchObject({ instances: [{ id: "a", fresh: false }], more: true });
        const both = await setup.lease(ALPHA, { limit: 1, busy: 1 });
        expect(both.more).toBe(true);
        expect(both.instances).toMatchObject([
          { id: "a", fresh: false },
          { id: "b", fresh: true },
        ]);
      },
    },
    {
      title: "only the owner receives new messages of a leased instance",
      async run(setup) {
        const held = await setup.hold("a", { owner: ALPHA });
        await setup.commit(sendItem({ id: "a" }));
        await setup.leaseNothing(BETA);
        expect(await setup.read("a")).toMatchObject({ owner: ALPHA });
        await setup.turn(held, { events: [eventText()] });
      },
    },
    {
      title: "a released instance is leased to the next runtime, with a new token",
      async run(setup) {
        await setup.start("a");
        const first = await setup.leaseOnly("a", ALPHA);
        const { key, token } = first;
        expect(await setup.commit({ kind: "releaseInstance", key, token })).toEqual({
          kind: "done",
        });
        expect(await setup.read("a")).toMatchObject({ owner: null });
        const second = await setup.leaseOnly("a", BETA);
        expect(second.token).not.toBe(token);
        expect(second.messages).toEqual(first.messages);
      },
    },
    {
      title: "250 due instances are leased in batches, each instance once",
      async run(setup) {
        const items = Array.from({ length: 250 }, (_, i) => startItem({ id: `crowd-${i}` }));
        await setup.provider.commit(items);
        const seen: string[] = [];
        for (let batch = 0; batch < 20; batch++) {
          const owner = `runtime-${batch}`;
          await setup.provider.registerRuntime(registration({ id: owner }));
          const { instances, more } = await setup.lease(owner, { limit: 32 });
          seen.push(...instances.map((instance) => instance.id));
          if (!more) break;
        }
        expect(seen).toHaveLength(250);
        expect(new Set(seen).size).toBe(250);
      },
    },
    {
      title: "an instance gains exactly one priority level for every five minutes of waiting (16)",
      async run(setup) {
        for (const [waitMs, first] of [
          [2 * AGEING_MS - 1, "urgent"],
          [2 * AGEING_MS + 1, "patient"],
        ] as const) {
          await setup.start(`patient-${waitMs}`, { priority: 5 });
          await setup.environment.advance(waitMs);
          await setup.start(`urgent-${waitMs}`, { priority: 3 });
          await setup.provider.registerRuntime(registration({ id: `runtime-${waitMs}` }));
          await setup.leaseOnly(`${first}-${waitMs}`, `runtime-${waitMs}`, { limit: 1 });
          await setup.provider.registerRuntime(registration({ id: `rest-${waitMs}` }));
          await setup.lease(`rest-${waitMs}`);
        }
      },
    },
    {
      title: "a request can set the waiting time that is worth one priority level (16)",
      async run(setup) {
        for (const [ageingMs, first] of [
          [4_999, "patient"],
          [5_001, "urgent"],
        ] as const) {
          await setup.start(`patient-${ageingMs}`, { priority: 5 });
          await setup.environment.advance(10_000);
          await setup.start(`urgent-${ageingMs}`, { priority: 3 });
          const owner = `runtime-${ageingMs}`;
          await setup.provider.registerRuntime(registration({ id: owner }));
          await setup.leaseOnly(`${first}-${ageingMs}`, owner, { limit: 1, ageingMs });
          await setup.lease(owner);
        }
      },
    },
    {
      title:
        "only runtimes that name a later replay version can lease a history of that version (22)",
      async run(setup) {
        const { key } = await setup.start("a");
        await turnOfLaterReplay(setup, (start) => ({ events: [start] }));
        await setup.commit(sendItem({ id: "a" }));
        await setup.leaseNothing(BETA, { targets: [ORDER, `${ORDER}@${VERSION}`] });
        const targets = [`${ORDER}@${VERSION}#2`];
        expect(await setup.leaseOnly("a", BETA, { targets })).toMatchObject({ key });
      },
    },
    {
      title: "any runtime can lease the next execution, whatever the previous replay version (22)",
      async run(setup) {
        await setup.start("a");
        await turnOfLaterReplay(setup, (started) => ({
          events: [started, CONTINUED],
          change: { kind: "continued", started, version: VERSION, unread: [] },
        }));
        const targets = [`${ORDER}@${VERSION}`];
        expect(await setup.leaseOnly("a", BETA, { targets })).toMatchObject({ execution: 2 });
      },
    },
  ],
};
