// Contract of hostile strings: every user string is data, and the store returns it unchanged (I10).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  BETA,
  eventText,
  newTask,
  outcomeText,
  registration,
  sendItem,
  sessionsOf,
  startedText,
  startItem,
} from "../fixture.ts";

/** Valid ids and names: well-formed, without control characters. */
const NAMES: readonly string[] = [
  "it's",
  '"quoted"',
  "`ticked`",
  "'; DROP TABLE instances; --",
  "a' OR '1'='1",
  "?1 :name $2 @p",
  "%_*",
  "\\back\\slash\\",
  "👩‍🚀 emoji",
  "שלום עליכם",
  "\u202eright to left\u202c",
  "e\u0301", // the same letter, decomposed
  "\u00e9", // and composed
  "ß",
  "SS",
  "ss",
  " leading",
  "trailing ",
  "1",
  "01",
  "1.0",
  "1e0",
  "null",
  "NULL",
  "undefined",
  "__proto__",
  "constructor",
  "[1,2]",
  '{"a":1}',
  "a,b",
  "a::b",
  "\ufeffbom",
  "\u{10ffff}",
  "x".repeat(256),
  "🦀".repeat(64),
];
const CONTROLS = Array.from({ length: 31 }, (_, i) => String.fromCharCode(i + 1)).join("");
const TEXTS: readonly string[] = [
  ...NAMES,
  "",
  " ",
  CONTROLS,
  "\u007f\u0080\u009f",
  "line\r\nline\n\rline\u2028line\u2029line\u0085",
  "\ufffe\uffff",
];
const MEGABYTE = 1_048_576;

export const hostileStrings: ContractSubject = {
  subject: "hostile strings",
  cases: [
    {
      title: "instances with any id are distinguished and read back",
      async run(setup) {
        const items = NAMES.map((id) => startItem({ id }));
        const results = await setup.provider.commit(items);
        expect(results.every((result) => result.kind === "started")).toBe(true);
        for (const [i, id] of NAMES.entries()) {
          const record = await setup.provider.readInstance(id);
          expect(record, id).toMatchObject({ id, runId: items[i]?.runId });
        }
        const { instances } = await setup.lease();
        expect(instances.map((instance) => instance.id).toSorted()).toEqual(NAMES.toSorted());
      },
    },
    {
      title: "orchestrations are leased by their exact name and version, whatever the characters",
      async run(setup) {
        const versioned = NAMES.map((name, i) =>
          startItem({ id: `v${i}`, name, version: "1.0.0" }),
        );
        await setup.provider.commit(versioned);
        await setup.provider.commit(NAMES.map((name, i) => startItem({ id: `n${i}`, name })));
        for (const [i, name] of NAMES.entries()) {
          await setup.provider.registerRuntime(registration({ id: `by name ${i}` }));
          await setup.provider.registerRuntime(registration({ id: `by version ${i}` }));
          const byName = await setup.leaseOnly(`n${i}`, `by name ${i}`, { targets: [name] });
          expect(byName.name).toBe(name);
          const targets = [`${name}@1.0.0`];
          const byVersion = await setup.leaseOnly(`v${i}`, `by version ${i}`, { targets });
          expect(byVersion).toMatchObject({ name, version: "1.0.0" });
        }
      },
    },
    {
      title: "activities are leased by their exact name, whatever the characters",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: NAMES.map(() => eventText()),
          tasks: NAMES.map((name, i) =>
            newTask({ sequence: i + 2, name, session: name, tags: [name] }),
          ),
        });
        for (const [i, name] of NAMES.entries()) {
          const task = await setup.leaseOneTask(BETA, {
            names: [name],
            sessions: sessionsOf(BETA),
          });
          expect(task).toMatchObject({ name, sequence: i + 2, session: name, tags: [name] });
        }
      },
    },
    {
      title: "events are delivered with any name, payload and request id unchanged",
      async run(setup) {
        const held = await setup.hold("a");
        const items = TEXTS.map((text, i) =>
          sendItem({ id: "a", name: NAMES[i] ?? "n", data: text, requestId: NAMES[i] ?? `r${i}` }),
        );
        await setup.provider.commit(items);
        await setup.provider.commit(items);
        const due = await setup.due(held, 1_000);
        expect(due.map((message) => message.data)).toEqual(TEXTS);
        expect(due.map((message) => message.name)).toEqual(items.map((item) => item.name));
      },
    },
    {
      title: "inputs, outcomes, failures and outputs with any text are read back",
      async run(setup) {
        for (const [i, text] of TEXTS.entries()) {
          const held = await setup.hold(`a${i}`, { started: startedText({ input: text }) });
          await setup.schedule(held, { input: text });
          const first = await setup.leaseOneTask();
          expect(first.input).toBe(text);
          await setup.commit({ kind: "retry", task: first, delayMs: 0, failure: text });
          expect((await setup.provider.readTasks(held))[0]?.lastFailure).toBe(text);
          const second = await setup.leaseOneTask();
          const outcome = outcomeText(second.sequence, text);
          await setup.commit({ kind: "completion", task: second, outcome });
          expect((await setup.due(held))[0]?.data).toBe(outcome);
          await setup.complete(held, text);
          expect(await setup.read(held.id)).toMatchObject({ output: text });
          expect((await setup.events(held)).at(-1)).toMatchObject({ output: text });
        }
      },
    },
    {
      title: "attributes with any key and value are read back and do not pollute prototypes (29)",
      async run(setup) {
        const attributes = Object.fromEntries(NAMES.map((name, i) => [name, TEXTS[i] ?? ""]));
        Object.defineProperty(attributes, "__proto__", {
          value: "data",
          enumerable: true,
          configurable: true,
          writable: true,
        });
        await setup.start("a", { attributes });
        const record = await setup.read("a");
        expect(Object.entries(record.attributes).toSorted()).toEqual(
          Object.entries(attributes).toSorted(),
        );
        expect(({} as Record<string, unknown>)["data"]).toBeUndefined();
      },
    },
    {
      title: "runtimes with any id can hold leases and be declared dead",
      async run(setup) {
        const names = NAMES.slice(0, 12);
        for (const [i, owner] of names.entries()) {
          await setup.provider.registerRuntime(registration({ id: owner, nodeId: owner }));
          await setup.start(`a${i}`);
          await setup.leaseOnly(`a${i}`, owner);
          expect(await setup.read(`a${i}`)).toMatchObject({ owner });
        }
        for (const [i, owner] of names.entries()) {
          const result = await setup.provider.expireRuntime({ id: owner, staleMs: null });
          expect(result).toMatchObject({ expired: true, instances: 1 });
          expect(await setup.read(`a${i}`)).toMatchObject({ owner: null });
        }
      },
    },
    {
      title: "a payload of a megabyte is read back completely from every place",
      async run(setup) {
        const big = JSON.stringify("é👩‍🚀".repeat(MEGABYTE / 10));
        const started = startedText({ input: big });
        const held = await setup.hold("a", { started });
        await setup.commit(sendItem({ id: "a", data: big }));
        const [message] = await setup.due(held);
        expect(message?.data === big).toBe(true);
        await setup.schedule(held, { input: big });
        const task = await setup.leaseOneTask();
        expect(task.input === big).toBe(true);
        await setup.turn(held, { events: [eventText(big)], consumed: [message?.id ?? -1] });
        const events = await setup.events(held);
        expect(JSON.stringify(events[0]).includes(JSON.stringify(big))).toBe(true);
        await setup.complete(held, big);
        expect((await setup.read("a")).output === big).toBe(true);
      },
    },
  ],
};
