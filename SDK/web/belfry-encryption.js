// Belfry: messages that only this browser can read, docs/EndToEnd.md. For pages, and for service workers behind belfry-worker.js.
{
const utf8 = (text) => new TextEncoder().encode(text)
const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0))
const text = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "")
const curve = { name: "ECDH", namedCurve: "P-256" }

// IndexedDB alone keeps a private key that no script can read.
const inStore = async (mode, work) => {
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  const opening = indexedDB.open("belfry", 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore("keys")
  const database = await done(opening)
  try {
    return await done(work(database.transaction("keys", mode).objectStore("keys")))
  } finally {
    database.close()
  }
}
const kept = () => inStore("readonly", (store) => store.get("own"))

const make = async () => {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(curve, false, ["deriveBits"])
  const point = new Uint8Array(await crypto.subtle.exportKey("raw", publicKey))
  const own = { privateKey, point, secret: crypto.getRandomValues(new Uint8Array(16)) }
  await inStore("readwrite", (store) => store.put(own, "own"))
  return own
}

const derive = async (from, salt, info, length) => crypto.subtle.deriveBits({ name: "HKDF", hash: "SHA-256", salt, info },
  await crypto.subtle.importKey("raw", from, "HKDF", false, ["deriveBits"]), length * 8)

// RFC 8291: a header with salt and sender's key, and one record.
const open = async (message, own) => {
  const body = bytes(message)
  const size = body.length < 104 ? 0 : new DataView(body.buffer).getUint32(16)
  if (body[20] !== 65 || size < 18 || body.length - 86 > size) throw new Error("This is no message for a device")
  const salt = body.slice(0, 16), point = body.slice(21, 86)
  const sender = await crypto.subtle.importKey("raw", point, curve, false, [])
  const agreed = await crypto.subtle.deriveBits({ name: "ECDH", public: sender }, own.privateKey, 256)
  const secret = await derive(agreed, own.secret, new Uint8Array([...utf8("WebPush: info\0"), ...own.point, ...point]), 32)
  const key = await crypto.subtle.importKey("raw", await derive(secret, salt, utf8("Content-Encoding: aes128gcm\0"), 16), "AES-GCM", false, ["decrypt"])
  const iv = await derive(secret, salt, utf8("Content-Encoding: nonce\0"), 12)
  const record = new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, body.slice(86)))
  const end = record.findLastIndex((byte) => byte)
  if (record[end] !== 2) throw new Error("This is no message for a device")
  return new TextDecoder().decode(record.subarray(0, end))
}

self.belfryEncryption = {
  // The keys for `subscribe`, made once.
  keys: async () => {
    const own = await navigator.locks.request("belfry-keys", async () => (await kept()) ?? make())
    return { p256dh: text(own.point), auth: text(own.secret) }
  },
  // The text of a message.
  open: async (message, own) => open(message, own ?? (await kept())),
}

// The members that the worker shows; a text that is no object is the body.
const read = (opened) => {
  try {
    if (opened[0] !== "{") return { body: opened }
    const { title, body, image, link, data } = JSON.parse(opened)
    return { title, body, image, navigate: /^https?:/i.test(link) ? link : undefined, data }
  } catch {
    return { body: opened }
  }
}

if (self.belfry?.push) {
  const { push } = self.belfry
  self.belfry.push = async (event) => {
    let message
    try {
      message = event.data.json()
      Object.assign(message, read(await self.belfryEncryption.open(message.encrypted)))
    } catch {
      // What cannot be read is shown as its sender's server wrote it.
      return push(event)
    }
    return push({ data: { text: () => JSON.stringify(message) }, notification: event.notification })
  }
}
}
