use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::identity::{PrivateFileError, Request, Validity};
use crate::store::Location;

fn made(members: usize) -> (TempDir, PathBuf) {
    let outer = crate::testing::folder();
    let folder = outer.path().join("fed");
    init(&folder, &InitOptions::with_members(members)).unwrap();
    (outer, folder)
}

fn add_named(folder: &Path, name: &str) -> Result<Enrolment, AddError> {
    add_member(folder, &Applicant::named(name).unwrap())
}

/// All paths below a folder with their permissions and contents, in order.
fn listing(folder: &Path) -> Vec<(String, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let is_folder = path.is_dir();
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        let content = if is_folder { Vec::new() } else { fs::read(&path).unwrap() };
        found.push((path.strip_prefix(folder).unwrap().display().to_string(), mode, content));
        if is_folder {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_new_folder_has_a_bundle_for_each_member_and_opens() {
    let (_outer, folder) = made(3);
    let federation = open(&folder).unwrap();
    assert_eq!(federation.settings.name, "fed");
    assert_eq!(federation.roster.iter().map(|m| m.member.as_str()).collect::<Vec<_>>(), ["m1", "m2", "m3"]);
    assert_eq!(federation.operator(), federation.operator_identity().unwrap().certificate().digest());
    assert_eq!(federation.store(), Location::file(folder.join("ledger.db")));
    for enrolment in &federation.roster {
        let bundle = open_bundle(&folder.join("members").join(enrolment.member.as_str())).unwrap();
        let certificate = bundle.identity.certificate();
        assert_eq!((certificate.digest(), certificate.key()), (enrolment.certificate, enrolment.key));
        assert_eq!((&bundle.member, bundle.federation), (&enrolment.member, federation.id()));
        assert_eq!(bundle.coordinator_key, federation.server.signer().public());
        assert_eq!(bundle.agreement.hash(), federation.settings.agreement.hash());
        assert_eq!((bundle.coordinator.as_str(), bundle.server_name.as_str()), ("127.0.0.1:7443", "127.0.0.1"));
    }
}

#[test]
fn keys_and_folders_are_private_and_no_key_lies_where_it_should_not() {
    let (_outer, folder) = made(1);
    let mut keys = Vec::new();
    for (path, mode, content) in listing(&folder) {
        let is_secret = String::from_utf8_lossy(&content).contains("PRIVATE KEY");
        assert_eq!(is_secret, path.ends_with(".key"), "{path}");
        match folder.join(&path).is_dir() {
            true => assert_eq!(mode, 0o700, "{path}"),
            false if is_secret || path == "federation.toml" => assert_eq!(mode, 0o600, "{path}"),
            false => assert_eq!(mode, 0o644, "{path}"),
        }
        keys.extend(is_secret.then_some(path));
    }
    let expected = ["authority/authority.key", "members/m1/member.key", "operator/operator.key", "server/server.key"];
    assert_eq!(keys, expected);
}

#[test]
fn a_key_that_others_can_read_is_refused_with_the_remedy() {
    let (_outer, folder) = made(1);
    let expose = |path: &str| fs::set_permissions(folder.join(path), fs::Permissions::from_mode(0o644)).unwrap();
    expose("server/server.key");
    let error = open(&folder).unwrap_err();
    assert!(matches!(error, OpenError::PrivateFile(PrivateFileError::Exposed { mode: 0o644, .. })), "{error}");
    assert!(error.to_string().contains("chmod 600"), "{error}");
    expose("members/m1/member.key");
    assert!(matches!(open_bundle(&folder.join("members/m1")), Err(OpenError::PrivateFile(_))));
    expose("authority/authority.key");
    assert!(matches!(add_named(&folder, "m2"), Err(AddError::Open(OpenError::PrivateFile(_)))));
}

#[test]
fn what_exists_is_not_touched() {
    let (outer, folder) = made(1);
    let before = listing(outer.path());
    assert!(matches!(init(&folder, &InitOptions::with_members(2)), Err(InitError::Exists(_))));
    assert_eq!(listing(outer.path()), before);

    let file = outer.path().join("file");
    fs::write(&file, "mine").unwrap();
    assert!(matches!(init(&file, &InitOptions::default()), Err(InitError::Exists(_))));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");

    let empty = outer.path().join("empty");
    fs::create_dir(&empty).unwrap();
    init(&empty, &InitOptions::default()).unwrap();
    open(&empty).unwrap();
}

#[test]
fn a_number_may_be_set_in_the_place_of_auto() {
    let outer = crate::testing::folder();
    let changes = ["terms.capacity=5000", "terms.quota.samples=40"].map(str::to_owned).to_vec();
    let folder = outer.path().join("fed");
    init(&folder, &InitOptions { changes, ..InitOptions::default() }).unwrap();
    let text = std::fs::read_to_string(folder.join("federation.toml")).unwrap();
    assert!(text.contains("\ncapacity = 5000\n") && text.contains("\nsamples = 40\n"), "{text}");
}

#[test]
fn a_federation_that_is_refused_leaves_nothing_behind() {
    let outer = crate::testing::folder();
    let refused = |members: &[&str], changes: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let options = InitOptions { name: None, members: owned(members), changes: owned(changes) };
        init(&outer.path().join("fed"), &options).unwrap_err()
    };
    assert!(matches!(refused(&["a/b"], &[]), InitError::Name(_)));
    assert!(matches!(refused(&["m1", "M1"], &[]), InitError::Twice(_)));
    assert!(matches!(refused(&[], &["terms.price=3"]), InitError::Change(_)));
    assert!(matches!(refused(&[], &["terms"]), InitError::Change(_)));
    assert!(matches!(refused(&[], &["terms.norm=1\nextra=2"]), InitError::Change(_)));
    assert!(matches!(refused(&[], &["terms.coverage=2"]), InitError::Settings(_)));
    assert!(matches!(init(outer.path().join("..").as_path(), &InitOptions::default()), Err(InitError::Unnamed(_))));
    assert_eq!(listing(outer.path()).len(), 1, "only the outer folder itself");
    let nowhere = outer.path().join("no/such/folder");
    assert!(matches!(init(&nowhere, &InitOptions::default()), Err(InitError::Io { .. })));
    assert_eq!(listing(outer.path()).len(), 1);
}

/// The path of the last file of a bundle is made too long, so that writing fails midway.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_finished_leaves_nothing_behind() {
    let outer = crate::testing::folder();
    let mut deep = outer.path().to_owned();
    while deep.as_os_str().len() < 3990 {
        let rest = 4000 - deep.as_os_str().len() - 1;
        deep.push("d".repeat(rest.min(200)));
    }
    fs::create_dir_all(&deep).unwrap();
    let options = InitOptions { members: vec!["m".repeat(64)], ..InitOptions::default() };
    let error = init(&deep.join("fed"), &options).unwrap_err();
    assert!(matches!(error, InitError::Io { .. }), "{error}");
    assert_eq!(fs::read_dir(&deep).unwrap().count(), 0);
    init(&deep.join("fed"), &InitOptions::with_members(0)).unwrap();
}

#[test]
fn changes_are_put_into_the_commented_settings() {
    let outer = crate::testing::folder();
    let changes =
        ["listen=127.0.0.1:0", "terms.reserve=500", "terms.bandit.dimension=3", "terms.coverage=monopoly-free"];
    let options =
        InitOptions { name: Some("other".to_owned()), members: Vec::new(), changes: changes.map(String::from).into() };
    init(&outer.path().join("fed"), &options).unwrap();
    let federation = open(&outer.path().join("fed")).unwrap();
    let settings = &federation.settings;
    assert_eq!((settings.name.as_str(), settings.listen.port()), ("other", 0));
    assert_eq!(settings.agreement.raw().reserve, truthfed::Amount::from_units(500));
    assert_eq!(settings.agreement.dimension(), 3);
    let text = fs::read_to_string(outer.path().join("fed/federation.toml")).unwrap();
    assert!(text.contains("# The highest ask that is admitted"), "comments stay");
    assert!(text.contains("reserve = \"500\""), "{text}");
}

#[test]
fn a_member_is_added_once_and_its_bundle_can_be_moved() {
    let (outer, folder) = made(1);
    let added = add_named(&folder, "shop-7").unwrap();
    assert!(matches!(add_named(&folder, "shop-7"), Err(AddError::Exists(_))));
    assert!(Applicant::named("../x").is_err());
    let elsewhere = outer.path().join("elsewhere");
    fs::rename(folder.join("members/shop-7"), &elsewhere).unwrap();
    assert_eq!(open_bundle(&elsewhere).unwrap().identity.certificate().digest(), added.certificate);
    assert!(open(&folder).unwrap().roster.contains(&added), "also when its bundle is gone");
    assert!(matches!(add_named(&folder, "shop-7"), Err(AddError::Exists(_))));
}

#[test]
fn an_addition_that_was_cut_short_is_finished_with_the_same_certificate() {
    let (_outer, folder) = made(1);
    let added = add_named(&folder, "m2").unwrap();
    fs::remove_file(folder.join("roster/m2.pem")).unwrap();
    fs::write(folder.join("roster/.m3.pem.0123"), "half").unwrap();
    assert_eq!(open(&folder).unwrap().roster.len(), 1);
    assert_eq!(add_named(&folder, "m2").unwrap(), added);
    assert_eq!(open(&folder).unwrap().roster.len(), 2);
}

#[test]
fn a_renewed_server_has_the_same_key_under_other_names_and_the_operator_is_renewed_too() {
    let (_outer, folder) = made(0);
    let before = open(&folder).unwrap();
    let path = folder.join("federation.toml");
    let text = fs::read_to_string(&path).unwrap().replace("\"localhost\", ", "\"a.example.org\", ");
    fs::write(&path, text).unwrap();
    let renewed = renew(&folder).unwrap();
    let after = open(&folder).unwrap();
    assert_eq!(after.server.certificate(), &renewed);
    assert_ne!(renewed.digest(), before.server.certificate().digest());
    assert!(renewed.der().windows(13).any(|part| part == b"a.example.org"));
    assert_eq!(renewed.key(), before.server.signer().public());
    assert_ne!(after.operator(), before.operator());
    assert_eq!(after.operator(), after.operator_identity().unwrap().certificate().digest());
}

fn check_open_refused(path: &str, change: impl FnOnce(&str) -> Option<String>, expected: &str) {
    let (_outer, folder) = made(1);
    let file = folder.join(path);
    match change(&fs::read_to_string(&file).unwrap()) {
        Some(text) => fs::write(&file, text).unwrap(),
        None => fs::remove_file(&file).unwrap(),
    }
    let error = match path.starts_with("members") {
        true => open_bundle(&folder.join("members/m1")).unwrap_err().to_string(),
        false => open(&folder).unwrap_err().to_string(),
    };
    let name = Path::new(path).file_name().unwrap().to_str().unwrap();
    assert!(error.contains(name) && error.contains(expected), "{path}: {error}");
}

#[test]
fn damaged_files_are_named_with_what_is_wrong() {
    let gone = |_: &str| None;
    let cut = |text: &str| Some(text[..text.len() / 2].to_owned());
    check_open_refused("federation.toml", gone, "is missing: name a folder that `truthfed init` made");
    check_open_refused("federation.toml", |text| Some(text.replace("norm =", "norms =")), "norms");
    check_open_refused("federation.toml", cut, "TOML parse error");
    check_open_refused("authority/authority.pem", gone, "is missing");
    check_open_refused("authority/authority.pem", cut, "not one certificate in PEM form");
    check_open_refused("authority/authority.pem", |text| Some(text.repeat(2)), "not one certificate");
    check_open_refused("server/server.key", gone, "is missing: put it back");
    check_open_refused("operator/operator.pem", |_| Some(String::new()), "not one certificate");
    check_open_refused("roster/m1.pem", cut, "not one certificate");
    check_open_refused("members/m1/member.toml", |text| Some(format!("{text}\nextra = 1\n")), "unknown field `extra`");
    check_open_refused("members/m1/member.toml", cut, "TOML parse error");
    check_open_refused("members/m1/member.toml", |text| Some(text.replace("\"m1\"", "\"../m1\"")), "not a usable name");
    check_open_refused("members/m1/terms.json", |text| Some(text.replace("0.5", "0.6")), "another hash");
    check_open_refused("members/m1/terms.json", |text| Some(format!("{text}\n")), "another hash");
    check_open_refused("members/m1/terms.json", cut, "EOF");
    check_open_refused("members/m1/authority.pem", gone, "is missing");
    check_open_refused("members/m1/member.pem", gone, "is missing");
    // The key is at fault, not the certificate beside it.
    for key in ["members/m1/member.key", "server/server.key"] {
        check_open_refused(key, |_| Some(String::new()), "not a private Ed25519 key");
        check_open_refused(key, cut, "not a private Ed25519 key");
    }
}

#[test]
fn files_of_two_federations_do_not_mix() {
    let ((_a, one), (_b, two)) = (made(1), made(1));
    let swap = |path: &str| fs::copy(two.join(path), one.join(path)).unwrap();
    swap("members/m1/authority.pem");
    let error = open_bundle(&one.join("members/m1")).unwrap_err().to_string();
    assert!(error.contains("federation is not the hash of authority.pem"), "{error}");
    swap("server/server.pem");
    let error = open(&one).unwrap_err().to_string();
    assert!(error.contains("the private key belongs to another certificate"), "{error}");
    swap("server/server.key");
    assert!(matches!(open(&one), Err(OpenError::Foreign(path)) if path.ends_with("server.pem")));

    let (_c, three) = made(1);
    fs::copy(one.join("roster/m1.pem"), three.join("roster/m1.pem")).unwrap();
    assert!(matches!(open(&three), Err(OpenError::Foreign(path)) if path.ends_with("m1.pem")));
    for file in ["member.pem", "member.key"] {
        fs::copy(one.join("members/m1").join(file), three.join("members/m1").join(file)).unwrap();
    }
    assert!(matches!(open_bundle(&three.join("members/m1")), Err(OpenError::Foreign(_))));
}

#[test]
fn a_bundle_with_the_files_of_another_member_was_opened() {
    let (_outer, folder) = made(2);
    let [m1, m2] = ["m1", "m2"].map(|name| folder.join("members").join(name));
    let take = |file: &str| fs::copy(m2.join(file), m1.join(file)).unwrap();
    take("member.key");
    let error = open_bundle(&m1).unwrap_err().to_string();
    assert!(error.contains("member.key: the private key belongs to another certificate"), "{error}");
    take("member.pem");
    let error = open_bundle(&m1).unwrap_err().to_string();
    assert!(error.contains("member.pem: is the certificate of m2, not of m1"), "{error}");
    fs::copy(folder.join("roster/m2.pem"), folder.join("roster/m1.pem")).unwrap();
    let error = open(&folder).unwrap_err().to_string();
    assert!(error.contains("m1.pem: is the certificate of m2, not of m1"), "{error}");
}

#[test]
fn two_names_with_one_key_were_taken_for_two_members() {
    let (_outer, folder) = made(2);
    let key = open_bundle(&folder.join("members/m1")).unwrap().identity.signer().clone();
    let authority = super::open::read_authority(&folder).unwrap();
    let again = authority.certify_member(key, &"m2".parse().unwrap(), Validity::leaf()).unwrap();
    fs::write(folder.join("roster/m2.pem"), again.certificate().pem()).unwrap();
    let error = open(&folder).unwrap_err().to_string();
    assert!(error.contains("roster/m2.pem: has the key of m1"), "{error}");
}

/// Somebody applies with a key of its own; the operator adds it.
fn add_requesting(outer: &Path, folder: &Path, name: &str) -> (PathBuf, Result<Enrolment, AddError>) {
    let own = outer.join(name);
    let request = apply(&own, None).unwrap().request;
    let request = Request::read(&fs::read_to_string(request).unwrap()).unwrap();
    (own, add_member(folder, &Applicant::Requesting(request)))
}

#[test]
fn a_member_makes_its_own_key_and_no_operator_ever_holds_it() {
    let (outer, folder) = made(1);
    let (own, added) = add_requesting(outer.path(), &folder, "zoe");
    let added = added.unwrap();
    let issued = folder.join("members/zoe");
    assert!(!issued.join("member.key").exists());
    let key = fs::read_to_string(own.join("member.key")).unwrap();
    assert!(listing(&folder).iter().all(|(_, _, content)| content != key.as_bytes()));
    let federation = open(&folder).unwrap();
    assert!(federation.roster.contains(&added));
    let bundle = join(&own, &issued, Some(federation.id())).unwrap();
    assert_eq!(bundle.identity.certificate().digest(), added.certificate);
    assert_eq!(open_bundle(&own).unwrap().member.as_str(), "zoe");
    // Taken over again, it is the same.
    join(&own, &issued, None).unwrap();
    assert_eq!(fs::read_to_string(own.join("member.key")).unwrap(), key);
}

#[test]
fn what_was_issued_for_another_key_name_or_federation_is_not_taken_over() {
    let ((outer, folder), (_other, elsewhere)) = (made(1), made(1));
    let (own, added) = add_requesting(outer.path(), &folder, "zoe");
    added.unwrap();
    let before = listing(&own);
    let issued = folder.join("members/zoe");
    let error = join(&own, &folder.join("members/m1"), None).unwrap_err().to_string();
    assert!(error.contains("members/m1/member.pem: the private key belongs to another certificate"), "{error}");
    let expected = open(&elsewhere).unwrap().id();
    let error = join(&own, &issued, Some(expected)).unwrap_err();
    assert!(matches!(error, JoinError::Federation { expected: named, .. } if named == expected), "{error}");
    fs::copy(elsewhere.join("authority/authority.pem"), issued.join("authority.pem")).unwrap();
    let error = join(&own, &issued, None).unwrap_err().to_string();
    assert!(error.contains("members/zoe/member.toml"), "{error}");
    fs::remove_file(issued.join("terms.json")).unwrap();
    assert!(matches!(join(&own, &issued, None), Err(JoinError::Open(OpenError::Missing(_)))));
    assert_eq!(listing(&own), before, "nothing changed");
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 2, "nothing is left beside it");
}

#[test]
fn one_key_is_not_certified_for_two_members_and_a_leftover_of_another_key_is_named() {
    let (outer, folder) = made(1);
    let key = open_bundle(&folder.join("members/m1")).unwrap().identity.signer().clone();
    let request = Request::read(&Request::text(&"zoe".parse().unwrap(), &key)).unwrap();
    let error = add_member(&folder, &Applicant::Requesting(request)).unwrap_err();
    assert!(error.to_string().contains("m1 has this key already"), "{error}");
    open(&folder).unwrap();
    // Cut short, and then asked for with another key.
    let (_own, added) = add_requesting(outer.path(), &folder, "ann");
    added.unwrap();
    fs::remove_file(folder.join("roster/ann.pem")).unwrap();
    fs::remove_dir_all(outer.path().join("ann")).unwrap();
    let (_own, again) = add_requesting(outer.path(), &folder, "ann");
    assert!(matches!(again, Err(AddError::OtherBundle(_))), "{again:?}");
    assert!(matches!(add_named(&folder, "ann"), Err(AddError::OtherBundle(_))));
    assert_eq!(open(&folder).unwrap().roster.len(), 1);
}

#[test]
fn a_request_is_not_made_over_anything() {
    let (outer, _folder) = made(1);
    let zoe = outer.path().join("zoe");
    let made = apply(&zoe, Some("ann")).unwrap();
    assert_eq!(made.member.as_str(), "ann");
    assert!(matches!(apply(&zoe, None), Err(ApplyError::Exists(_))));
    assert!(matches!(apply(&outer.path().join("a b"), None), Err(ApplyError::Name(_))));
    assert!(matches!(apply(Path::new("/"), None), Err(ApplyError::Unnamed(_))));
    let mode = |name: &str| zoe.join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("member.key"), mode("request.json")), (0o700, 0o600, 0o644));
}
