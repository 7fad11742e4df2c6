// Belfry: docs/SDK.md. belfry-worker.js works while no page is open; both share a record, below the worker's scope.
// A registration key begins with its platform; the rest may be replaced.
const platformOf = (url) => /pk_.{32}/.exec(url)?.[0]

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
    const base = document.baseURI
    scope = new URL(scope ?? new URL(".", new URL(worker, base)), base).href
    this.#settings = { server, url: `${server}/web/v1/${platform}`, worker, scope }
    navigator.serviceWorker?.addEventListener("message", ({ data }) => {
      const { message, registered, ended, scope: from = scope } = data?.belfry ?? {}
      if (from !== scope) return
      if (message) this.onmessage?.(message)
      if (registered) this.#active(registered)
      if (ended) this.#known().catch(() => {})
    })
    this.ready = this.#alone(() => this.#resume())
  }

  get isSupported() {
    return [navigator.serviceWorker, navigator.locks, window.PushManager, window.Notification].every(Boolean)
  }

  subscribe({ topics, user, welcome, attributes, appVersion, encryptionKeys } = {}) {
    // Asked before anything is waited for: browsers want the click to be fresh.
    const asked = this.isSupported && Notification.requestPermission()
    return this.#alone(async () => {
      if ((await asked) !== "granted") return this.#is("blocked")
      await this.#sync({ ...(await this.#read()), welcome }, { topics, custom_user_id: user, attributes, app_version: appVersion, encryption_keys: encryptionKeys })
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
      const record = await this.#known()
      const { subscription: own, device_uuid } = record.wish
      if (!device_uuid) throw new Error("This browser is not registered yet")
      const key = vapid_public_key ?? "", known = record.endpoints?.[key]
      // One that was revoked is replaced; one that cannot be asked for stays.
      const { path } = await this.#ask("/endpoints", { subscription: own, device_uuid, vapid_public_key, path: known })
        .catch((error) => known ? { path: known } : Promise.reject(error))
      await this.#write({ ...record, endpoints: { ...record.endpoints, [key]: path } })
      subscription = { endpoint: this.#settings.server + path, keys: own.keys }
    })
    return { ...result, subscription }
  }

  #change(wish) {
    return this.#alone(async () => this.#sync(await this.#known(), wish))
  }

  // One tab at a time, since all share one subscription. No error leaves.
  async #alone(work) {
    let error
    try {
      // The page sets `onstate` after the constructor.
      await null
      if (this.isSupported) await navigator.locks.request("belfry", work)
      else this.#is("unsupported")
    } catch ({ name, message }) {
      // What browsers throw is {} in JSON.
      error = Object.assign(new Error(message), { name, toJSON: () => ({ name, message }) })
    }
    return { state: this.state, ...(error && { error }) }
  }

  async #resume() {
    const record = await this.#read(), { wish } = record
    if (!wish) return this.#gone()
    if (Notification.permission === "granted") {
      // It is so while the server cannot be reached, too.
      if (wish.device_uuid) this.#active(wish)
      return this.#sync(record, {})
    }
    this.#is("blocked")
    await this.#end("blocked")
  }

  // Makes subscription and device what the page asked for.
  async #sync(record, changes, isAgain) {
    const { worker, scope, url } = this.#settings
    const registration = await navigator.serviceWorker.register(worker, { scope })
    await timely(activated(registration), "The service worker has not started")
    const { vapid_public_key: vapid } = await this.#ask("")
    // A platform that the page has left would push to this browser, too.
    if (platformOf(record.url ?? url) !== platformOf(url)) {
      const { device_uuid, ...wish } = record.wish
      this.#ask("/registrations/end", { subscription: wish.subscription, device_uuid }, record.url).catch(() => {})
      record = { ...record, wish }
    }
    let subscription = await registration.pushManager.getSubscription()
    // Chromium names such a host in the place of an address that is gone.
    if (subscription && (record.vapid !== vapid || /\.invalid\//.test(subscription.endpoint))) {
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
    if (wish.subscription && wish.subscription.endpoint !== subscription.endpoint) wish.previous ??= wish.subscription
    wish.subscription = subscription
    await this.#write({ ...record, url, vapid, wish })
    // The worker registers: it goes on when this page is closed.
    const told = new Promise((done) => (this.#told = done))
    if (!wish.device_uuid || wish.previous) this.#is("proving")
    registration.active.postMessage({ belfry: "register", namesUser: changes.custom_user_id !== undefined })
    const { error, status } = await timely(told, "The subscription has not been proven")
    // The push service has ended it: another one, once.
    if (status === 422 && !isAgain) {
      await subscription.unsubscribe()
      return this.#sync(await this.#read(), {}, true)
    }
    // With it, all that comes later would be refused. A new browser waits for room.
    if ((status === 409 ? record.wish : /4(00|13)/.test(status)) && !/^proof/.test(error)) await this.#undo(record.wish, changes)
    if (error) throw new Error(error)
  }

  async #undo(before, changes) {
    const record = await this.#read()
    for (const name in changes) record.wish[name] = before?.[name]
    await this.#write(before ? record : {})
    if (!before) this.#gone()
  }

  #active(answer) {
    if (!answer.error) {
      this.device = answer.device_uuid
      this.topics = answer.topics ?? []
      this.#is("active")
    }
    this.#told(answer)
  }

  #is(state) {
    if (this.state === state) return
    this.state = state
    this.onstate?.(state)
  }

  #gone(state = Notification.permission === "denied" ? "blocked" : "off") {
    this.device = null
    this.#is(state)
  }

  // The record goes last: until then another call, or the next page load, goes on with it.
  async #end(state) {
    const { wish: { subscription, device_uuid } = {} } = await this.#read()
    if (device_uuid) await this.#ask("/registrations/end", { subscription, device_uuid }).catch((error) => {
      // A server that refuses it has no such device, unless it has no time.
      if (!(error.status < 500) || [408, 429].includes(error.status)) throw error
    })
    const registration = (await navigator.serviceWorker.getRegistrations()).find(({ scope }) => scope === this.#settings.scope)
    await (await registration?.pushManager.getSubscription())?.unsubscribe()
    await this.#write({})
    registration?.active?.postMessage({ belfry: "ended" })
    this.#gone(state)
  }

  // The record of a browser that is subscribed.
  async #known() {
    const record = await this.#read()
    if (record.wish) return record
    this.#gone()
    throw new Error("This browser is not subscribed")
  }

  async #read() {
    const store = await caches.open("belfry"), { scope, url } = this.#settings
    // Earlier versions had one record for all workers of a site.
    const found = await (await store.match(scope + "belfry/record") ?? await store.match("/belfry/record"))?.json() ?? {}
    return (found.scope ? found.scope === scope : platformOf(found.url) === platformOf(url)) ? found : {}
  }

  async #write(record) {
    const store = await caches.open("belfry"), { scope } = this.#settings
    await store.put(scope + "belfry/record", new Response(JSON.stringify({ ...record, scope })))
  }

  async #ask(path, body, url = this.#settings.url) {
    const answer = await fetch(url + path, {
      cache: "no-store", ...(body && { method: "POST", keepalive: true, body: JSON.stringify(body) }),
    })
    const found = answer.status === 204 ? {} : await answer.json().catch(() => { throw new Error(`${answer.status} without JSON`) })
    if (!answer.ok) throw Object.assign(new Error(found.message), { status: answer.status })
    return found
  }
}
