// Says what a type must be, for the files in test/types/. They are compiled, never run.

/** `expectTypeOf(await handle.result()).is<{ status: "shipped" }>()` */
export declare function expectTypeOf<Actual>(value: Actual): {
  is<Expected>(
    ...same: Same<Actual, Expected> extends true ? [] : [expected: Expected, actual: Actual]
  ): void;
};

/** True where the two are one type, not merely assignable; `any` is the same as itself alone. */
export type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
