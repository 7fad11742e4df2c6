package org.belfry

import java.util.Base64
import org.json.JSONArray
import org.json.JSONException
import org.json.JSONObject

// org.json is a part of Android. Elsewhere it is a library: Debian has Android's own as `libandroid-json-java`.

/** An object in the order of its members, without those that are null. */
internal fun json(vararg members: Pair<String, Any?>): JSONObject {
    val made = JSONObject()
    for ((name, value) in members) if (value != null) made.put(name, value)
    return made
}

internal fun array(elements: Iterable<Any>): JSONArray = elements.fold(JSONArray()) { made, element -> made.put(element) }

/** null for a text that is no object. */
internal fun parsed(text: String): JSONObject? = try {
    JSONObject(text)
} catch (error: JSONException) {
    null
} catch (error: StackOverflowError) {
    // The parser calls itself for each level, and a sender chooses how many there are.
    null
}

/** A member as a text: a number as its digits, an object or array as JSON; null where it is missing. */
internal fun JSONObject.text(name: String): String? = if (isNull(name)) null else get(name).toString()

internal fun JSONObject.member(name: String): JSONObject? = optJSONObject(name)

internal fun JSONObject.number(name: String): Long? = if (isNull(name)) null else text(name)?.toLongOrNull()

internal fun JSONObject.texts(): Map<String, String> {
    val found = LinkedHashMap<String, String>()
    for (name in keys()) text(name)?.let { found[name] = it }
    return found
}

internal fun JSONArray?.objects(): List<JSONObject> =
    if (this == null) emptyList() else (0 until length()).mapNotNull { optJSONObject(it) }

internal fun ByteArray.inBase64(): String = Base64.getUrlEncoder().withoutPadding().encodeToString(this)

/** Reads Base64 of either alphabet, with or without padding; null for other texts. */
internal fun String.fromBase64(): ByteArray? = try {
    Base64.getUrlDecoder().decode(replace('+', '-').replace('/', '_').trimEnd('='))
} catch (error: IllegalArgumentException) {
    null
}
