package import BelfryService

extension MemoryStore {
    package func devices(_ search: DeviceSearch, skip: Int, limit: Int) async throws -> ListPage<Device> {
        transaction { contents in
            let found = contents.devices(search)
            return ListPage(Array(found.dropFirst(skip).prefix(limit)), total: found.count)
        }
    }

    package func devices(_ search: DeviceSearch, after: Key<Device>?, limit: Int) async throws -> [Device] {
        transaction { contents in
            Array(contents.devices(search).filter { device in after.map { device.key > $0 } ?? true }.prefix(limit))
        }
    }

    package func deviceCount(_ search: DeviceSearch) async throws -> Int {
        transaction { contents in contents.devices(search).count }
    }

    package func devicePage(
        _ search: DeviceSearch, after: Key<Device>?, limit: Int, within time: Duration
    ) async throws -> DevicePage {
        let found = try await devices(search, after: after, limit: limit)
        let isCounted = after == nil || (search.text == nil && search.filter.isEmpty)
        return DevicePage(
            found, count: isCounted ? DeviceCount(devices: try await deviceCount(search)) : nil,
            next: found.count == limit ? found.last?.key : nil)
    }

    package func customUserIDs(
        on platforms: [Key<Platform>], beginning prefix: IDPrefix, after id: String?, limit: Int
    ) async throws -> [String] {
        let ids = try await customUserIDs(on: platforms, containing: nil, after: id, limit: .max)
        return Array(ids.filter { $0.utf8.starts(with: prefix.text.utf8) }.prefix(limit))
    }

    package func customUserIDs(
        on platforms: [Key<Platform>], containing text: String?, after id: String?, limit: Int
    ) async throws -> [String] {
        transaction { contents in
            let devices = contents.devices.values.filter { $0.isActive && platforms.contains($0.platformKey) }
            let ids = Set(devices.compactMap(\.customUserID)).filter { candidate in
                (text.map { candidate.contains($0) } ?? true) && (id.map { $0.precedes(candidate) } ?? true)
            }
            return Array(ids.sorted { $0.precedes($1) }.prefix(limit))
        }
    }
}

extension Contents {
    fileprivate func devices(_ search: DeviceSearch) -> [Device] {
        devices.values.filter { device in
            search.platforms.contains(device.platformKey)
                && (search.text.map { holds($0, device) } ?? true)
                && (search.topic.map { device.isActive && device.topics.contains($0) } ?? true)
                && search.filter.matches(device)
        }.sorted { $0.key < $1.key }
    }

    private func holds(_ text: String, _ device: Device) -> Bool {
        let kind = platforms[device.platformKey]?.kind ?? .ios
        let texts = [
            naming.uuid(of: device.key).lowercased, device.importMark?.uuid?.lowercased, device.token?.text(for: kind),
            device.customUserID, device.about.alias,
        ]
        return texts.contains { $0?.caseFolded.contains(text) ?? false }
    }
}
