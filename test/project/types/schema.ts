// A schema as libraries that implement Standard Schema create it; only its types matter here.

/** Declared here and not imported from perdure, because users' schemas do not use the type of perdure either. */
export declare function schema<Input, Output = Input>(): {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "library";
    readonly validate: (
      value: unknown,
    ) =>
      | { readonly value: Output; readonly issues?: undefined }
      | { readonly issues: readonly { readonly message: string }[] };
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
  readonly parse: (value: unknown) => Output;
};
