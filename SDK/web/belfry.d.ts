export type BelfryState = "unsupported" | "blocked" | "off" | "proving" | "active"

export interface BelfrySettings {
  /** The address of the server, such as `https://push.example.com`. */
  server: string
  /** The registration key of the web platform, `pk_…`. */
  platform: string
  /** The path of the service worker on the site; `/belfry-worker.js` where none is given. */
  worker?: string
  /** The part of the site that the worker is for; its own folder where none is given. */
  scope?: string
}

export interface BelfryWish {
  /** All topics of this browser, at most 64. */
  topics?: string[]
  /** The user's id, signed by the site's back end. */
  user?: string
  /** Attributes of this browser; see `setAttributes`. */
  attributes?: BelfryAttributes
  /** The version of the site, such as `5.10.2`. */
  appVersion?: string
  /** Of `belfryEncryption.keys()`: senders encrypt messages for this browser with them. */
  encryptionKeys?: BelfryEncryptionKeys
  /** What is shown when the subscription works. */
  welcome?: { title: string; body?: string; icon?: string }
}

export interface BelfryEncryptionKeys {
  p256dh: string
  auth: string
}

declare global {
  /** Of `belfry-encryption.js`. */
  var belfryEncryption: {
    /** The keys of this browser, made once; the private one cannot be read by any script. */
    keys(): Promise<BelfryEncryptionKeys>
    /** The text of a message, from the member `encrypted` of a push. */
    open(message: string): Promise<string>
  }
}

/** Values by name, a list for a set; null removes one. */
export type BelfryAttributes = Record<string, string | number | boolean | (string | number | boolean)[] | null>

export interface BelfryResult {
  state: BelfryState
  /** Its `name` is the browser's, such as `NotAllowedError` or `AbortError`; `JSON.stringify` has name and message. */
  error?: Error
}

/** A push. One with a title has what is shown in `notification`; any other has it beside its other members. */
export interface BelfryMessage extends BelfryNotification {
  notification?: BelfryNotification
  /** The number on the app's icon. */
  app_badge?: number
  receiptId?: string
  /** What `message.custom.web` has of its own. */
  [member: string]: any
}

export interface BelfryNotification {
  title?: string
  body?: string
  /** The address of a picture: the `image` of the message. */
  image?: string
  /** What a click opens: the `link` of the message. */
  navigate?: string
  /** The `collapse_key` of the message. */
  tag?: string
  /** The `data` of the message; within `notification`, its member `data`. */
  data?: any
}

/** What application servers that speak Web Push need, such as Mastodon. */
export interface BelfrySubscription {
  endpoint: string
  keys: { p256dh: string; auth: string }
}

export declare class Belfry {
  constructor(settings: BelfrySettings)
  /** Settles when this page load has been compared with the server. Never rejects. */
  readonly ready: Promise<BelfryResult>
  readonly isSupported: boolean
  readonly state: BelfryState
  readonly topics: string[]
  /** The UUID by which a back end can name this browser; null until it is active. */
  readonly device: string | null
  /** Called with each push that arrives while this page is open. */
  onmessage: ((message: BelfryMessage) => void) | null
  onstate: ((state: BelfryState) => void) | null
  /** Subscribes this browser; call it in the handler of a click. Never rejects. */
  subscribe(wish?: BelfryWish): Promise<BelfryResult>
  /** Has an error, and ends nothing, while the server cannot be reached. */
  unsubscribe(): Promise<BelfryResult>
  /** Has an error, as the next two have, where this browser is not subscribed. */
  setTopics(topics: string[]): Promise<BelfryResult>
  setUser(user: string): Promise<BelfryResult>
  /** Sets attributes by which audiences find this browser; those that are not named stay. */
  setAttributes(attributes: BelfryAttributes): Promise<BelfryResult>
  /** Gets a subscription for an application server, bound to its VAPID key where one is given; another once it was revoked. Never rejects. */
  endpoint(vapidPublicKey?: string): Promise<BelfryResult & { subscription?: BelfrySubscription }>
}
