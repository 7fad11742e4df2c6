/// Remembers a value for each key, and forgets the keys that were not used lately, so that any number of keys takes
/// bounded memory.
///
/// Two generations: a key that is used moves to the young one; when that is full it becomes the old one, and the
/// previous old one is dropped. So the last `countMax / 2` keys used are always known.
package struct Generations<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]
    private let youngMax: Int

    package init(countMax: Int) {
        precondition(countMax >= 2, "two generations have two keys at least")
        youngMax = countMax / 2
    }

    package var count: Int { young.count + old.count }
    package var isEmpty: Bool { young.isEmpty && old.isEmpty }

    package func value(for key: Key) -> Value? { young[key] ?? old[key] }

    package mutating func set(_ value: Value, for key: Key) {
        old[key] = nil
        young[key] = value
        guard young.count >= youngMax else { return }
        old = young
        young = [:]
    }

    package mutating func remove(_ key: Key) {
        young[key] = nil
        old[key] = nil
    }
}
