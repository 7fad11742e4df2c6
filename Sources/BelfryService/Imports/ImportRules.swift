/// The effect of an imported row on the devices that exist.
///
/// An app's own registration here is newer than another server's knowledge of it, so an import changes only devices that
/// were imported before and whose app has not registered since.
package enum ImportRules: Sendable, Hashable {
    case create
    /// The device takes the values; `evicted`, which had the token so far, loses it and becomes inactive.
    case update(Key<Device>, evicted: Key<Device>?)
    /// The device stays as it is, and is found by the old UUID too.
    case name(Key<Device>)
    case keep

    /// A device that the row may mean.
    package struct Party: Sendable, Hashable {
        package let key: Key<Device>
        package let mark: ImportMark?

        package init(key: Key<Device>, mark: ImportMark?) {
            self.key = key
            self.mark = mark
        }

        fileprivate var isUnseen: Bool { mark?.stage == .unseen || mark?.stage == .retired }
        fileprivate var hasOldUUID: Bool { mark?.uuid != nil }
    }

    /// - Parameters:
    ///   - named: the device that has the row's UUID.
    ///   - holder: the device that has the row's token.
    package init(named: Party?, holder: Party?) {
        switch (named, holder) {
        case (nil, nil): self = .create
        case (nil, let holder?) where holder.isUnseen: self = .update(holder.key, evicted: nil)
        case (nil, let holder?): self = holder.hasOldUUID ? .keep : .name(holder.key)
        case (let named?, nil): self = named.isUnseen ? .update(named.key, evicted: nil) : .keep
        case (let named?, let holder?) where named.key == holder.key:
            self = named.isUnseen ? .update(named.key, evicted: nil) : .keep
        case (let named?, let holder?):
            self = named.isUnseen && holder.isUnseen ? .update(named.key, evicted: holder.key) : .keep
        }
    }
}
