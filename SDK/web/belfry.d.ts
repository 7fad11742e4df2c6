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
  /** What is shown when the subscription works. */
  welcome?: { title: string; body?: string; icon?: string }
}

export interface BelfryResult {
  state: BelfryState
  error?: Error
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
  onmessage: ((message: any) => void) | null
  onstate: ((state: BelfryState) => void) | null
  /** Subscribes this browser; call it in the handler of a click. Never rejects. */
  subscribe(wish?: BelfryWish): Promise<BelfryResult>
  unsubscribe(): Promise<BelfryResult>
  setTopics(topics: string[]): Promise<BelfryResult>
  setUser(user: string): Promise<BelfryResult>
}
