// perdure/callback: calls from outside over HTTP. README.md describes the folder.

export { callbacks } from "./callbacks.ts";
export type { CallbackLimits, CallbacksOptions, PageSubject } from "./options.ts";
export type { PageTexts } from "./page.ts";
export type { Secrets } from "./signatures.ts";
export {
  github,
  slack,
  standardWebhooks,
  stripe,
  type Delivery,
  type Verdict,
  type Verifier,
} from "./verifiers.ts";
export {
  webhook,
  type MappedWebhookOptions,
  type NamedWebhookOptions,
  type Webhook,
  type WebhookHeaders,
  type WebhookOptions,
} from "./webhook.ts";
export {
  callback,
  type CallbackDef,
  type CallbackDefinition,
  type CallbackSettings,
} from "../core/define/callback.ts";
