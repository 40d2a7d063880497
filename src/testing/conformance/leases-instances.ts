// Instance leases: who is handed which instance, and with what (N3, semantics 14, 16).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import {
  ALPHA,
  BETA,
  eventText,
  fresh,
  heldFrom,
  ORDER,
  registration,
  sendItem,
  startedText,
  startItem,
  VERSION,
} from "./fixture.ts";

const AGEING_MS = 300_000;
const CONTINUED = JSON.stringify({ kind: "OrchestrationContinuedAsNew", input: "2" });

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
      title: "two runtimes that ask at once share the instances without overlap",
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
      title: "of one priority whoever became due first is leased first, though born last (16)",
      async run(setup) {
        await setup.start("late", { delayMs: 2_000 });
        await setup.start("soon", { delayMs: 1_000 });
        await setup.environment.advance(3_000);
        await setup.leaseOnly("soon", BETA, { limit: 1 });
        await setup.leaseOnly("late", ALPHA, { limit: 1 });
      },
    },
    {
      title: "a lease hands over what the instance is, under the token of the request",
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
          fresh: true,
          history: [],
        });
        expect(leased.messages).toEqual(await setup.provider.readInbox(key));
      },
    },
    {
      title: "the token of a lease commits its turn",
      async run(setup) {
        await setup.start("a");
        const held = heldFrom(await setup.leaseOnly("a", BETA));
        await setup.turn(held, { events: [eventText()], version: VERSION });
        expect(await setup.read("a")).toMatchObject({ status: "running", version: VERSION });
      },
    },
    {
      title: "an instance is leased by its name while it has no version",
      async run(setup) {
        await setup.start("a", { name: "ship" });
        await setup.leaseNothing(BETA, { targets: ["order", "ship@1.0.0", "shi", "ship2"] });
        await setup.leaseOnly("a", BETA, { targets: ["ship"] });
      },
    },
    {
      title: "an instance with a version is leased by name and version alone (22)",
      async run(setup) {
        await setup.start("a", { name: "ship", version: "1.2.0" });
        await setup.leaseNothing(BETA, { targets: ["ship", "ship@1.2.1", "ship@1.2"] });
        await setup.leaseOnly("a", BETA, { targets: ["order", "ship@1.2.0"] });
      },
    },
    {
      title: "the version that the first turn names decides who may take the instance next",
      async run(setup) {
        const held = await setup.hold("a", { name: "ship" });
        await setup.turn(held, { release: true });
        await setup.commit(sendItem({ id: "a" }));
        await setup.leaseNothing(BETA, { targets: ["ship"] });
        await setup.leaseOnly("a", BETA, { targets: [`ship@${VERSION}`] });
      },
    },
    {
      title: "of a cut that is held back no pending instance is leased",
      async run(setup) {
        await setup.start("held-back");
        await setup.start("of-another-priority", { priority: 2 });
        const heldBack = [{ target: ORDER, priority: 3 }];
        await setup.leaseOnly("of-another-priority", BETA, { heldBack });
        const { more } = await setup.leaseNothing(ALPHA, { heldBack });
        expect(more).toBe(false);
        await setup.leaseOnly("held-back", ALPHA, { heldBack: [{ target: ORDER, priority: 4 }] });
      },
    },
    {
      title: "an event does not make a pending instance of a cut that is held back leasable",
      async run(setup) {
        await setup.start("a");
        await setup.commit(sendItem({ id: "a" }));
        await setup.leaseNothing(BETA, { heldBack: [{ target: ORDER, priority: 3 }] });
        const leased = await setup.leaseOnly("a", BETA);
        expect(leased.messages.map(({ kind }) => kind)).toEqual(["start", "event"]);
      },
    },
    {
      title:
        "running instances of a cut that is held back are leased, in order and among the others",
      async run(setup) {
        for (const id of ["first", "second"]) {
          const held = await setup.hold(id);
          await setup.turn(held, { release: true });
        }
        await setup.start("pending");
        await setup.commit(sendItem({ id: "second" }));
        await setup.environment.advance(10);
        await setup.start("other", { name: "ship" });
        await setup.environment.advance(10);
        await setup.commit(sendItem({ id: "first" }));
        const heldBack = [ORDER, `${ORDER}@${VERSION}`].map((target) => ({ target, priority: 3 }));
        const targets = [ORDER, `${ORDER}@${VERSION}`, "ship"];
        await setup.leaseOnly("second", ALPHA, { heldBack, targets, limit: 1 });
        const { instances, more } = await setup.lease(BETA, { heldBack, targets });
        expect(instances.map(({ id }) => id)).toEqual(["other", "first"]);
        expect(more).toBe(false);
        expect(await setup.read("pending")).toMatchObject({ owner: null, status: "pending" });
      },
    },
    {
      title: "the next execution of an instance is leased although its cut is held back",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: [CONTINUED],
          change: { kind: "continued", started: startedText(), version: VERSION, unread: [] },
          release: true,
        });
        const target = `${ORDER}@${VERSION}`;
        const leased = await setup.leaseOnly("a", BETA, { heldBack: [{ target, priority: 3 }] });
        expect(leased).toMatchObject({ execution: 2, fresh: true });
      },
    },
    {
      title: "news for an instance that the caller holds comes although its cut is held back",
      async run(setup) {
        await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        const target = `${ORDER}@${VERSION}`;
        const news = await setup.leaseOnly("a", ALPHA, { heldBack: [{ target, priority: 3 }] });
        expect(news).toMatchObject({ fresh: false });
      },
    },
    {
      title: "a runtime that registers nothing is handed nothing",
      async run(setup) {
        await setup.start("a");
        await setup.leaseNothing(BETA, { targets: [] });
      },
    },
    {
      title:
        "targets are filtered before the limit, so that a foreign instance starves no other (14)",
      async run(setup) {
        await setup.provider.commit(
          Array.from({ length: 50 }, (_, i) =>
            startItem({ id: `foreign-${i}`, name: "nobody-knows", priority: 1 }),
          ),
        );
        await setup.environment.advance(10);
        await setup.start("a");
        await setup.leaseOnly("a", BETA, { limit: 1 });
        expect(await setup.read("foreign-0")).toMatchObject({ status: "pending", owner: null });
      },
    },
    {
      title: "no more instances are leased than asked for, and the answer says that there are more",
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
      title: "an instance with nothing due is not leased",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()], release: true });
        const { more, nextAt } = await setup.leaseNothing();
        expect({ more, nextAt }).toEqual({ more: false, nextAt: null });
      },
    },
    {
      title: "an instance that has ended is not leased, whatever is left in its inbox",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        await setup.complete(held);
        await setup.leaseNothing(ALPHA);
        await setup.leaseNothing(BETA);
      },
    },
    {
      title: "its holder is told of an instance's news under the token it has, without history",
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
      title: "news of an instance goes to its holder alone",
      async run(setup) {
        const held = await setup.hold("a", { owner: ALPHA });
        await setup.commit(sendItem({ id: "a" }));
        await setup.leaseNothing(BETA);
        expect(await setup.read("a")).toMatchObject({ owner: ALPHA });
        await setup.turn(held, { events: [eventText()] });
      },
    },
    {
      title: "an instance that is handed back goes to the next who asks, with a new token",
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
      title: "a crowd of due instances is leased batch by batch, each of them once",
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
      title: "waiting raises an instance's rank by one priority every five minutes, exactly (16)",
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
      title: "a request may say how long a wait is worth a priority (16)",
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
      title: "a history of a later replay version is for those alone who name it (22)",
      async run(setup) {
        const { key } = await setup.start("a");
        const leased = await setup.leaseOnly("a");
        const held = heldFrom(leased);
        const [start] = leased.messages;
        await setup.turn(held, {
          version: VERSION,
          replayVersion: 2,
          events: [start?.data ?? ""],
          consumed: [start?.id ?? -1],
          release: true,
        });
        await setup.commit(sendItem({ id: "a" }));
        await setup.leaseNothing(BETA, { targets: [ORDER, `${ORDER}@${VERSION}`] });
        const targets = [`${ORDER}@${VERSION}#2`];
        expect(await setup.leaseOnly("a", BETA, { targets })).toMatchObject({ key });
      },
    },
    {
      title: "the next execution is written by whoever takes it, whatever wrote the last (22)",
      async run(setup) {
        await setup.start("a");
        const leased = await setup.leaseOnly("a");
        const held = heldFrom(leased);
        const [start] = leased.messages;
        await setup.turn(held, {
          version: VERSION,
          replayVersion: 2,
          events: [start?.data ?? "", CONTINUED],
          consumed: [start?.id ?? -1],
          change: {
            kind: "continued",
            started: start?.data ?? "",
            version: VERSION,
            unread: [],
          },
          release: true,
        });
        const targets = [`${ORDER}@${VERSION}`];
        expect(await setup.leaseOnly("a", BETA, { targets })).toMatchObject({ execution: 2 });
      },
    },
  ],
};
