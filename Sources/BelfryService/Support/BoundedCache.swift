/// Remembers a value for each key, and forgets keys that were not used lately, so that any number of keys takes bounded memory.
///
/// Two generations: a key that is set moves to the young one; when that is full it becomes the old one, and keys that were
/// not set since the last change are gone. So the last `countMax / 2` keys set are always known, where each counts as one.
package struct BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]
    private var youngWeight = 0
    private let youngMax: Int

    package init(countMax: Int) {
        precondition(countMax >= 2, "two generations have two keys at least")
        youngMax = countMax / 2
    }

    package var count: Int { young.count + old.count }
    package var isEmpty: Bool { young.isEmpty && old.isEmpty }

    package func value(for key: Key) -> Value? { young[key] ?? old[key] }

    /// - Parameter weight: the number of keys that it counts as; the same at each call.
    package mutating func set(_ value: Value, for key: Key, weight: Int = 1) {
        old[key] = nil
        if young.updateValue(value, forKey: key) == nil { youngWeight += weight }
        guard youngWeight >= youngMax else { return }
        old = young
        young = [:]
        youngWeight = 0
    }

    /// Removes a value. Its weight is released when the generation expires.
    package mutating func remove(_ key: Key) {
        young[key] = nil
        old[key] = nil
    }
}
