import FoundationEssentials

extension Target {
    /// The target of a push. Lists without an entry count as not given.
    init(_ target: PCF.TargetNames) throws(InvalidInput) {
        let isByDevice = target.devices != nil
        try self.init(
            devices: target.devices, topics: target.topics,
            customUserIDs: target.customUserIDs, platforms: isByDevice ? nil : try target.kinds(),
            isInteractiveOnly: !isByDevice && target.isInteractiveOnly)
    }
}

extension PCF.TargetNames {
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
