package import BelfryService
package import FoundationEssentials

extension MemoryStore {
    package func set(_ appID: AcrobitsAppID) async throws {
        transaction { contents in
            contents.acrobitsAppIDs.removeAll {
                $0.name == appID.name && $0.applicationKey == appID.applicationKey
                    && $0.platformKey == appID.platformKey
            }
            contents.acrobitsAppIDs.append(appID)
            contents.acrobitsAppIDs.sort { ($0.name, $0.platformKey) < ($1.name, $1.platformKey) }
        }
    }

    package func acrobitsAppIDs(of application: Key<Application>) async throws -> [AcrobitsAppID] {
        contents.acrobitsAppIDs.filter { $0.applicationKey == application }
    }

    package func acrobitsAppIDs(named name: String) async throws -> [AcrobitsAppID] {
        contents.acrobitsAppIDs.filter { $0.name == name }
    }

    package func deleteAcrobitsAppID(_ name: String, of application: Key<Application>) async throws -> Bool {
        transaction { contents in
            let count = contents.acrobitsAppIDs.count
            contents.acrobitsAppIDs.removeAll { $0.name == name && $0.applicationKey == application }
            return contents.acrobitsAppIDs.count < count
        }
    }

    package func note(_ new: AcrobitsRegistration) async throws {
        let now = clock.now
        transaction { contents in
            let known = contents.acrobitsRegistrations.first { $0.isSame(as: new) }
            contents.acrobitsRegistrations.removeAll { $0.isSame(as: new) }
            contents.acrobitsRegistrations.append(
                AcrobitsRegistration(
                    applicationKey: new.applicationKey, appID: new.appID, selector: new.selector, token: new.token,
                    platformKey: new.platformKey, device: new.device, account: new.account ?? known?.account,
                    seenAt: now))
            let ofDevice = contents.acrobitsRegistrations.filter {
                $0.applicationKey == new.applicationKey && $0.device == new.device
            }
            let surplus = Set(ofDevice.dropLast(AcrobitsRegistration.perDevice))
            contents.acrobitsRegistrations.removeAll { surplus.contains($0) }
        }
    }

    package func acrobitsRegistrations(
        selector: String, of application: Key<Application>
    ) async throws -> [AcrobitsRegistration] {
        contents.acrobitsRegistrations.filter { $0.applicationKey == application && $0.selector == selector }
            .sorted { $0.appID < $1.appID }
    }

    package func acrobitsRegistrations(
        device: UUID, of application: Key<Application>
    ) async throws -> [AcrobitsRegistration] {
        contents.acrobitsRegistrations.filter { $0.applicationKey == application && $0.device == device }.reversed()
    }

    package func deleteAcrobitsRegistrations(selector: String, of application: Key<Application>) async throws {
        transaction { contents in
            contents.acrobitsRegistrations.removeAll { $0.applicationKey == application && $0.selector == selector }
        }
    }
}

extension AcrobitsRegistration {
    fileprivate func isSame(as other: AcrobitsRegistration) -> Bool {
        applicationKey == other.applicationKey && selector == other.selector && appID == other.appID
    }
}

extension Contents {
    /// Removes what belongs to a deleted application or platform.
    mutating func removeAcrobits(of application: Key<Application>? = nil, on platform: Key<Platform>? = nil) {
        acrobitsAppIDs.removeAll { $0.applicationKey == application || $0.platformKey == platform }
        acrobitsRegistrations.removeAll { $0.applicationKey == application || $0.platformKey == platform }
    }
}
