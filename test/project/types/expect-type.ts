// The helper of the type tests: it distinguishes types that are assignable to each other.

import { expectTypeOf } from "../../support/expect-type.ts";

declare const anything: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- distinguished below
declare const optional: { a?: string };

expectTypeOf("a" as const).is<"a">();
expectTypeOf({ a: 1 }).is<{ a: number }>();
expectTypeOf(anything).is<any>(); // eslint-disable-line @typescript-eslint/no-explicit-any -- as above

// @ts-expect-error narrower is not the same
expectTypeOf("a" as const).is<string>();
// @ts-expect-error wider is not the same
expectTypeOf("a" as string).is<"a">();
// @ts-expect-error any is not string
expectTypeOf(anything).is<string>();
// @ts-expect-error an absent option differs from an option set to undefined
expectTypeOf(optional).is<{ a: string | undefined }>();
