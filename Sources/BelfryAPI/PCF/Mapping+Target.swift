import BelfryCore
import FoundationEssentials

extension Target {
    /// The target of a push. Lists without an entry count as not given.
    init(_ target: PCFv1.TargetNames) throws(InvalidInput) {
        // Checked before texts that are not UUIDs are ignored, so that a request is never larger than its limit.
        try Self.checkCount(ofDevices: target.devices.count)
        let isByDevice = !target.devices.isEmpty
        try self.init(
            // A text that is not a UUID matches no device: it is ignored, and does not extend the push to everyone.
            devices: isByDevice ? target.devices.compactMap(UUID.init(uuidString:)) : nil, topics: target.topics,
            customUserIDs: target.customUserIDs, platforms: isByDevice ? nil : try target.kinds(),
            isInteractiveOnly: !isByDevice && target.isInteractiveOnly)
    }
}

extension PCFv1.TargetNames {
    /// The named types of platform; nil for every type.
    fileprivate func kinds() throws(InvalidInput) -> [PlatformKind]? {
        var kinds: [PlatformKind] = []
        for (index, name) in platforms.enumerated() {
            kinds.append(try PlatformKind(name, field: "target.platforms[\(index)]"))
        }
        if let platform, platform != "all" {
            kinds.append(try PlatformKind(platform, field: "target.platform", alternatives: ["all"]))
        }
        return kinds.isEmpty || platform == "all" ? nil : kinds
    }
}
