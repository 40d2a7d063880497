// The order in which the parts of a runtime are created: a constructor must not read a part that does not
// exist yet.

import { expect, onTestFinished, test } from "vitest";
import type { RuntimeContext } from "../../../src/runtime/context.ts";
import { StoreOutage } from "../../../src/runtime/health/store-outage.ts";
import { Liveness } from "../../../src/runtime/health/liveness.ts";
import { BeginWindow } from "../../../src/runtime/instances/begin-window.ts";
import { Blocker } from "../../../src/runtime/instances/blocker.ts";
import { HeldInstances } from "../../../src/runtime/instances/held-instances.ts";
import { Instances } from "../../../src/runtime/instances/instances.ts";
import { Intake } from "../../../src/runtime/instances/intake.ts";
import { LeaseCheck } from "../../../src/runtime/instances/lease-check.ts";
import { LocalStarts } from "../../../src/runtime/instances/local-starts.ts";
import { LostLeases } from "../../../src/runtime/instances/lost-leases.ts";
import { SuspectSlot } from "../../../src/runtime/instances/suspect-slot.ts";
import { Shadowing } from "../../../src/runtime/replay/shadowing.ts";
import { TurnResults } from "../../../src/runtime/replay/turn-results.ts";
import { RuntimeResources } from "../../../src/runtime/resources.ts";
import { Sessions } from "../../../src/runtime/attempts/sessions.ts";
import { Unclaimed } from "../../../src/runtime/upkeep/unclaimed.ts";
import { Upkeep } from "../../../src/runtime/upkeep/upkeep.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";

const PARTS: readonly (new (runtime: RuntimeContext) => object)[] = [
  ...[StoreOutage, SuspectSlot, BeginWindow, Intake, LocalStarts, HeldInstances, Blocker],
  ...[Shadowing, TurnResults, Instances, Sessions, Liveness, LeaseCheck, LostLeases],
  ...[Unclaimed, Upkeep],
];

test.each(PARTS.map((Part) => [Part.name, Part] as const))(
  "%s reads no other part while it is created",
  async (_, Part) => {
    const provider = await SqliteProvider.open(":memory:");
    onTestFinished(() => provider.close());
    const wiring = {
      carryOutRepair: () => expect.unreachable(),
      makeSigner: () => {
        throw new Error("not used");
      },
      makeClient: () => expect.unreachable(),
      threadEntry: new URL("file:///"),
    };
    const resources = new RuntimeResources(provider, { register: [] }, wiring);
    const withoutParts = new Proxy(resources, {
      get(target, name) {
        if (name in target) return Reflect.get(target, name, target) as unknown;
        throw new Error(`${Part.name} reads ${String(name)} before it is created`);
      },
    });
    expect(new Part(withoutParts as RuntimeContext)).toBeInstanceOf(Part); // has no parts
  },
);
