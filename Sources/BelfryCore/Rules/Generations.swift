/// Remembers a value for each key, and forgets the keys that were not used lately, so that any number of keys takes
/// bounded memory.
///
/// Two generations: what is touched moves to the young one; when that is full it becomes the old one, and what no reader
/// touched since the last change is gone. So the last `countMax / 2` keys touched are always known, where each counts as one.
package struct Generations<Key: Hashable & Sendable, Value: Sendable>: Sendable {
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

    /// - Parameter weight: for how many keys it counts, the same whenever it is set.
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
