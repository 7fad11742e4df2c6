// Belfry: docs/SDK.md. belfry-worker.js works while no page is open; both share a record.
const store = () => caches.open("belfry")
const read = async () => (await (await store()).match("/belfry/record"))?.json() ?? {}
const write = async (record) => (await store()).put("/belfry/record", new Response(JSON.stringify(record)))

const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0))

// A new worker that cannot start yet, since pages have the one before, leaves the work to that.
const activated = (registration) => new Promise((done, fail) => {
  const worker = registration.installing ?? registration.waiting ?? registration.active
  const look = () => {
    const { state = "redundant" } = worker ?? {}
    if (state === "activated" || registration.active && /installed|redundant/.test(state)) done()
    else if (state === "redundant") fail(new Error("The service worker could not be installed"))
  }
  worker?.addEventListener("statechange", look)
  look()
})

// A push service that cannot be reached keeps some browsers waiting for ever.
const timely = (work, failure) => Promise.race([work, new Promise((_, fail) =>
  setTimeout(fail, 3e4, new Error(`${failure} within 30 seconds`)))])

export class Belfry {
  #settings
  #told = () => {}
  state = "off"
  topics = []
  device = null
  onmessage = null
  onstate = null

  constructor({ server, platform, worker = "/belfry-worker.js", scope }) {
    server = server.replace(/\/$/, "")
    this.#settings = { server, url: `${server}/web/v1/${platform}`, worker, scope }
    navigator.serviceWorker?.addEventListener("message", ({ data }) => {
      const { message, registered } = data?.belfry ?? {}
      if (message) this.onmessage?.(message)
      if (registered) this.#active(registered)
    })
    this.ready = this.#alone(() => this.#resume())
  }

  get isSupported() {
    return "serviceWorker" in navigator && "PushManager" in window && "Notification" in window
  }

  subscribe({ topics, user, welcome, attributes, appVersion, encryptionKeys } = {}) {
    // Asked before anything is waited for: browsers want the click to be fresh.
    const asked = this.isSupported && Notification.requestPermission()
    return this.#alone(async () => {
      if (!asked) return this.#is("unsupported")
      if ((await asked) !== "granted") return this.#is("blocked")
      await this.#sync({ ...(await read()), welcome }, { topics, custom_user_id: user, attributes, app_version: appVersion, encryption_keys: encryptionKeys })
    })
  }

  unsubscribe() {
    return this.#alone(() => this.#end("off"))
  }

  setTopics(topics) {
    return this.#change({ topics })
  }

  setUser(user) {
    return this.#change({ custom_user_id: user })
  }

  setAttributes(attributes) {
    return this.#change({ attributes })
  }

  // The same for the same key, so that a page may ask at each load.
  async endpoint(vapid_public_key) {
    let subscription
    const result = await this.#alone(async () => {
      const record = await read()
      const { subscription: own, device_uuid } = record.wish ?? {}
      if (!device_uuid) throw new Error("This browser is not subscribed")
      const key = vapid_public_key ?? ""
      const path = record.endpoints?.[key] ?? (await this.#ask("/endpoints", { subscription: own, device_uuid, vapid_public_key })).path
      await write({ ...record, endpoints: { ...record.endpoints, [key]: path } })
      subscription = { endpoint: this.#settings.server + path, keys: own.keys }
    })
    return { ...result, subscription }
  }

  #change(wish) {
    return this.#alone(async () => {
      const record = await read()
      if (record.wish) await this.#sync(record, wish)
    })
  }

  // One tab at a time, since all share one subscription. No error leaves.
  async #alone(work) {
    let error
    try {
      await navigator.locks.request("belfry", work)
    } catch ({ name, message }) {
      // What browsers throw is {} in JSON.
      error = Object.assign(new Error(message), { name, toJSON: () => ({ name, message }) })
    }
    return { state: this.state, ...(error && { error }) }
  }

  async #resume() {
    if (!this.isSupported) return this.#is("unsupported")
    const { permission } = Notification
    const record = await read()
    if (!record.wish) return this.#is(permission === "denied" ? "blocked" : "off")
    if (permission === "granted") return this.#sync(record, {})
    this.#is("blocked")
    await this.#end("blocked")
  }

  // Makes subscription and device what the page asked for.
  async #sync(record, changes, isAgain) {
    const { worker, scope } = this.#settings
    const registration = await navigator.serviceWorker.register(worker, scope && { scope })
    await timely(activated(registration), "The service worker has not started")
    const { vapid_public_key: vapid } = await this.#ask("")
    let subscription = await registration.pushManager.getSubscription()
    if (subscription && record.vapid !== vapid) {
      await subscription.unsubscribe()
      subscription = null
    }
    subscription ??= await timely(registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(vapid) }),
      "The browser's push service has not answered")
    const wish = {
      ...record.wish, device_model: /(Firefox|Edg|Chrome|Safari)\//.exec(navigator.userAgent)?.[1], language: navigator.language,
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }
    for (const name in changes) wish[name] = changes[name] ?? wish[name]
    if (changes.attributes) wish.attributes = { ...record.wish?.attributes, ...changes.attributes }
    if (wish.subscription && wish.subscription.endpoint !== subscription.endpoint) wish.previous = wish.subscription
    wish.subscription = subscription
    await write({ ...record, url: this.#settings.url, scope: registration.scope, vapid, wish })
    // The worker registers: it goes on when this page is closed.
    const told = new Promise((done) => (this.#told = done))
    this.#is("proving")
    registration.active.postMessage({ belfry: "register" })
    const { error, status } = await timely(told, "The subscription has not been proven")
    // The push service has ended it: another one, once.
    if (status === 422 && !isAgain) {
      await subscription.unsubscribe()
      return this.#sync(await read(), {}, true)
    }
    if (error) throw new Error(error)
  }

  #active(answer) {
    if (!answer.error) {
      this.device = answer.device_uuid
      this.topics = answer.topics
      this.#is("active")
    }
    this.#told(answer)
  }

  #is(state) {
    if (this.state === state) return
    this.state = state
    this.onstate?.(state)
  }

  // The record goes last: until then another call, or the next page load, goes on with it.
  async #end(state) {
    const { scope = this.#settings.scope ?? this.#settings.worker, wish: { subscription, device_uuid } = {} } = await read()
    if (device_uuid) await this.#ask("/registrations/end", { subscription, device_uuid }).catch((error) => {
      // A server that refuses it has no such device.
      if (!(error.status < 500)) throw error
    })
    const registration = await navigator.serviceWorker.getRegistration(scope)
    await (await registration?.pushManager.getSubscription())?.unsubscribe()
    await write({})
    this.device = null
    this.#is(state)
  }

  async #ask(path, body) {
    const answer = await fetch(this.#settings.url + path, {
      cache: "no-store", ...(body && { method: "POST", keepalive: true, body: JSON.stringify(body) }),
    })
    const found = answer.status === 204 ? {} : await answer.json()
    if (!answer.ok) throw Object.assign(new Error(found.message), { status: answer.status })
    return found
  }
}
