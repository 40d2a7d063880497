// The type tests' own tool: it tells types apart that are assignable to each other.

import { expectTypeOf } from "../support/expect-type.ts";

declare const anything: any; // eslint-disable-line @typescript-eslint/no-explicit-any -- told apart below
declare const optional: { a?: string };

expectTypeOf("a" as const).is<"a">();
expectTypeOf({ a: 1 }).is<{ a: number }>();
expectTypeOf(anything).is<any>(); // eslint-disable-line @typescript-eslint/no-explicit-any -- as above

// @ts-expect-error narrower is not the same
expectTypeOf("a" as const).is<string>();
// @ts-expect-error wider is not the same
expectTypeOf("a" as string).is<"a">();
// @ts-expect-error any is not what it hides
expectTypeOf(anything).is<string>();
// @ts-expect-error an option not given is not one given as undefined
expectTypeOf(optional).is<{ a: string | undefined }>();
