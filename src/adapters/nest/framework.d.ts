// The values that this folder imports from Nest, so that the project compiles without Nest. They are tokens here; host.ts and
// discovery.ts describe the objects behind them. The package does not contain this file: an application has Nest's own
// declarations. `npm run test:frameworks` uses the real packages.

declare module "@nestjs/common" {
  /** Called as a function, `Inject(token)(Class, undefined, 0)` injects into the first parameter of the constructor. */
  export function Inject(
    token: unknown,
  ): (target: object, key: string | symbol | undefined, index?: number) => void;
}

declare module "@nestjs/core" {
  export const APP_INTERCEPTOR: string;
  export const DiscoveryModule: object;
  export const DiscoveryService: object;
  export const HttpAdapterHost: object;
}
